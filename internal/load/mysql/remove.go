package mysql

import "context"

// Remove implements kv.Remover.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = k
	}
	res, err := a.db.ExecContext(ctx, "DELETE FROM "+recordTable+" WHERE k IN "+placeholders(len(keys)), args...)
	if err != nil {
		return 0, adminError(err)
	}
	n, err := res.RowsAffected()
	return n, adminError(err)
}

// Settle implements kv.Remover. The server purges removed rows in the
// background.
func (a *admin) Settle(ctx context.Context) error { return a.exec(ctx, "ANALYZE TABLE "+recordTable) }
