package redis

import "context"

// Remove implements kv.Remover. The memory is free when it returns.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	defer a.socket.closeAfter(ctx)()
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = recordKey(k)
	}
	n, err := a.Del(ctx, names...).Result()
	return n, adminError(err)
}

// Settle implements kv.Remover: there is nothing left to do.
func (a *admin) Settle(context.Context) error { return nil }
