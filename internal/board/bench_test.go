package board_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/board"
)

// BenchmarkOverhead tells what a request without work costs in processor time
// (cpu-µs/op), of the application in each role, and the database (database-µs/op).
func BenchmarkOverhead(b *testing.B) {
	for name, base := range map[string]base{"MariaDB": mariaDB(b), "PostgreSQL": postgreSQL(b).base} {
		app := startChild(b, board.Config{Role: board.App, DB: []string{base.url}, Pool: 8})
		b.Run(name, func(b *testing.B) {
			for _, path := range []string{"/Browse", "/BrowseCategories", "/StoriesOfTheDay", "/ViewStory?story=150", "/SearchInStories?search=ba"} {
				b.Run(path, func(b *testing.B) {
					before := base.cpu(b)
					overhead(b, app, path)
					b.ReportMetric(float64(base.cpu(b)-before)/float64(b.N)/1e3, "database-µs/op")
				})
			}
		})
		if name == "MariaDB" {
			continue
		}
		for _, role := range []board.Role{board.Web, board.Router} {
			b.Run(string(role), func(b *testing.B) {
				overhead(b, startChild(b, board.Config{Role: role, Upstreams: []string{app}, Threads: 50}), "/StoriesOfTheDay")
			})
		}
	}
}

func overhead(b *testing.B, address, path string) {
	u := newUser(b, address)
	u.page("GET", path, nil)
	before := u.status().CPU
	for b.Loop() {
		u.page("GET", path, nil)
	}
	b.ReportMetric((u.status().CPU-before)/float64(b.N)*1e6, "cpu-µs/op")
}
