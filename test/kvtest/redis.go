package kvtest

import (
	"os/exec"
	"testing"
)

// StartRedis starts a Redis server that keeps nothing on disk, with as many
// databases as a suite may want. A password, if there is one, is that of the
// user "default".
func StartRedis(t testing.TB, password string) *Server {
	t.Helper()
	s := newServer(t, "redis-server", "nobody")
	args := []string{"--save", "", "--appendonly", "no", "--databases", "64", "--bind", "127.0.0.1"}
	if password != "" {
		args = append(args, "--requirepass", password)
	}
	s.start(func(port string) *exec.Cmd {
		return s.command("redis-server", append([]string{"--port", port}, args...)...)
	}, func() error {
		answer := "+PONG"
		if password != "" {
			answer = "-NOAUTH"
		}
		return s.hear("PING\r\n", answer)
	})
	return s
}
