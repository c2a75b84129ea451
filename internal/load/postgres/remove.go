package postgres

import "context"

// Remove implements kv.Remover.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	tag, err := a.conn.Exec(ctx, "DELETE FROM "+recordTable+" WHERE k = ANY($1)", keys)
	return tag.RowsAffected(), adminError(err)
}

// Settle implements kv.Remover: rows that were removed, or replaced by updates,
// take up room until a vacuum.
func (a *admin) Settle(ctx context.Context) error {
	_, err := a.conn.Exec(ctx, "VACUUM (ANALYZE) "+recordTable)
	return adminError(err)
}
