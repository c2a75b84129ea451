package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// PutRunNodes implements store.Writer. Nodes that the run does not have yet
// come after those that it has.
func (s *Store) PutRunNodes(ctx context.Context, id model.RunID, nodes []model.Node) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		known, err := s.existing(ctx, tx, "runs", []string{string(id)})
		if err != nil {
			return err
		}
		if !known[string(id)] {
			return noRun()
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
	for i, n := range nodes {
		row := append([]any{text(run), next + i}, nodeRow(n)...)
		err := s.insert(ctx, tx, "run_nodes (run, position, "+nodeColumns+")", [][]any{row},
			"ON CONFLICT (run, id) DO UPDATE SET "+replaceNode)
		if err != nil {
			return err
		}
	}
	return nil
}
