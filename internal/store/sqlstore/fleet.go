package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

const nodeColumns = `id, public_key, labels, facts, registered`

// replaceNode is what a node's newer description changes.
const replaceNode = `public_key = excluded.public_key, labels = excluded.labels, facts = excluded.facts, registered = excluded.registered`

func nodeRow(n model.Node) []any {
	return []any{text(n.ID), text(n.PublicKey), document{&n.Labels}, document{&n.Facts}, instant(n.Registered)}
}

func scanNode(rows *sql.Rows) (n model.Node, err error) {
	err = rows.Scan((*text)(&n.ID), (*text)(&n.PublicKey), document{&n.Labels}, document{&n.Facts}, (*instant)(&n.Registered))
	return n, err
}

func (s *Store) selectNodes(ctx context.Context, tx *sql.Tx, query string, args ...any) ([]model.Node, error) {
	nodes := []model.Node{}
	err := s.each(ctx, tx, func(rows *sql.Rows) error {
		n, err := scanNode(rows)
		nodes = append(nodes, n)
		return err
	}, query, args...)
	return nodes, err
}

// PutNode implements store.Fleet.
func (s *Store) PutNode(ctx context.Context, n model.Node) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		return s.insert(ctx, tx, "nodes ("+nodeColumns+")", [][]any{nodeRow(n)}, "ON CONFLICT (id) DO UPDATE SET "+replaceNode)
	})
	return s.fail(ctx, fmt.Sprintf("storing node %s", n.ID), err)
}

// Nodes implements store.Fleet. Ids are ordered byte by byte, whatever the
// database's locale.
func (s *Store) Nodes(ctx context.Context) (nodes []model.Node, err error) {
	err = s.inSnapshot(ctx, func(tx *sql.Tx) error {
		nodes, err = s.selectNodes(ctx, tx, `SELECT `+nodeColumns+` FROM nodes ORDER BY id`)
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
