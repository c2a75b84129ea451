package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	nodeColumns = `id, public_key, labels, facts, registered`
	// replaceNode is what a node's newer description changes.
	replaceNode = `public_key = excluded.public_key, labels = excluded.labels, facts = excluded.facts, registered = excluded.registered`
)

func nodeFields(n *model.Node) []any {
	return []any{(*text)(&n.ID), (*text)(&n.PublicKey), document{&n.Labels}, document{&n.Facts}, (*instant)(&n.Registered)}
}

// PutNode implements store.Fleet.
func (s *Store) PutNode(ctx context.Context, n model.Node) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		return s.insert(ctx, tx, "nodes ("+nodeColumns+")", [][]any{nodeFields(&n)}, "ON CONFLICT (id) DO UPDATE SET "+replaceNode)
	})
	return s.fail(ctx, fmt.Sprintf("storing node %s", n.ID), err)
}

// Nodes implements store.Fleet. Ids are ordered byte by byte, whatever the
// database's locale.
func (s *Store) Nodes(ctx context.Context) (nodes []model.Node, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		nodes, err = selectAll(ctx, s, tx, nodeFields, `SELECT `+nodeColumns+` FROM nodes ORDER BY id`)
		return err
	})
	return nodes, s.fail(ctx, "listing nodes", err)
}

// RemoveNode implements store.Fleet. A node that is not there is
// model.ErrNotFound.
func (s *Store) RemoveNode(ctx context.Context, id model.NodeID) error {
	err := s.updateOne(ctx, `DELETE FROM nodes WHERE id = ?`, text(id))
	return s.fail(ctx, fmt.Sprintf("removing node %s", id), err)
}

// PutRunNodes implements store.Writer. Nodes that the run does not have yet
// come after those that it has.
func (s *Store) PutRunNodes(ctx context.Context, id model.RunID, nodes []model.Node) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := s.runByID(ctx, tx, string(id)); err != nil {
			return err
		}
		return s.putRunNodes(ctx, tx, id, nodes)
	})
	return s.fail(ctx, fmt.Sprintf("storing the nodes of run %s", id), err)
}

// putRunNodes keeps the position of a node that it replaces. One statement a
// node: a statement may not touch the same node twice.
func (s *Store) putRunNodes(ctx context.Context, tx *sql.Tx, run model.RunID, nodes []model.Node) error {
	var next int
	row := tx.QueryRowContext(ctx, s.d.bind(`SELECT COALESCE(MAX(position) + 1, 0) FROM run_nodes WHERE run = ?`), text(run))
	if err := row.Scan(&next); err != nil {
		return err
	}
	for i := range nodes {
		row := append([]any{text(run), next + i}, nodeFields(&nodes[i])...)
		err := s.insert(ctx, tx, "run_nodes (run, position, "+nodeColumns+")", [][]any{row},
			"ON CONFLICT (run, id) DO UPDATE SET "+replaceNode)
		if err != nil {
			return err
		}
	}
	return nil
}
