package board

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// app makes the pages.
type app struct {
	databases *databases
	ids       ids
	dbWork    []time.Duration // of the database, for each interaction
	dbWait    time.Duration   // for which each interaction keeps its connection beside that
}

// visit is one request to the application on its way. After its first error it asks the
// database for nothing more, and the error takes the place of the page.
type visit struct {
	*page
	app    *app
	values url.Values // of the form
	old    bool       // story and comments are those of the old tables
	db     *session   // nil where the interaction has no queries, and the database no work
	err    error      // the first
}

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// answer makes the page of interaction i.
func (a *app) answer(w http.ResponseWriter, r *http.Request, i int, x interaction, p *page) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.show(formFault(err))
		return
	}
	v := &visit{page: p, app: a, values: r.Form, old: r.Form.Get("old") == "1"}
	if v.visit(r.Context(), i, x); v.err != nil {
		p.show(v.err)
	}
}

func formFault(err error) *fault {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &fault{http.StatusRequestEntityTooLarge, fmt.Sprintf("a form may send %d bytes", large.Limit)}
	}
	return &fault{http.StatusBadRequest, "the form cannot be read: " + err.Error()}
}

// visit queries, writes the page, and has the database work, over one
// connection.
func (v *visit) visit(ctx context.Context, i int, x interaction) {
	d, work := v.app.databases, v.app.dbWork[i]
	if !x.queries && work == 0 && v.app.dbWait == 0 {
		x.page(v)
		v.end()
		return
	}
	p := d.choose(d.read)
	if x.Write {
		p = d.choose(d.write)
	}
	if v.db, v.err = p.take(ctx); v.err != nil {
		return
	}
	defer p.give(v.db)
	x.page(v)
	v.end()
	if v.err == nil {
		v.err = v.db.work(work) //nolint:contextcheck // queries are not ended: see background
	}
	if v.err == nil {
		v.err = v.db.wait(v.app.dbWait) //nolint:contextcheck // likewise
	}
}

// fail ends the visit with an answer, unless there was an error before.
func (v *visit) fail(status int, text string) {
	if v.err == nil {
		v.err = &fault{status, text}
	}
}

// each scans each row into these variables, calls row, which may be nil, and returns how
// many rows there were.
func (v *visit) each(q query, into []any, row func(), args ...any) (n int) {
	if v.err == nil {
		n, v.err = v.db.each(q, into, row, args...)
	}
	return n
}

// one scans one row into some variables; without a row the answer is 404 with
// this text.
func (v *visit) one(q query, missing string, into []any, args ...any) {
	if v.each(q, into, nil, args...) == 0 {
		v.fail(http.StatusNotFound, missing)
	}
}

// exec executes a statement and returns how many rows it has changed.
func (v *visit) exec(q query, args ...any) (n int64) {
	if v.err == nil {
		n, v.err = v.db.exec(q, args...)
	}
	return n
}

// text is a field of the form, of 1 to so many characters. PostgreSQL stores no zeros.
func (v *visit) text(name string, most int) string {
	s := v.values.Get(name)
	if s == "" || utf8.RuneCountInString(s) > most || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		v.fail(http.StatusBadRequest, fmt.Sprintf("%q must be a text of 1 to %d characters", name, most))
	}
	return s
}

// number is a field of the form that is a number of 0 or more.
func (v *visit) number(name string) int64 {
	n, err := strconv.ParseInt(v.values.Get(name), 10, 64)
	if err != nil || n < 0 {
		v.fail(http.StatusBadRequest, fmt.Sprintf("%q must be a number", name))
	}
	return n
}

// reference is the parameters of a link to a story, or to a comment of it.
func reference(old bool, story, comment int64) []string {
	params := []string{"story", number(story)}
	if old {
		params = append(params, "old", "1")
	}
	if comment > 0 {
		params = append(params, "comment", number(comment))
	}
	return params
}

// pageSize is how many entries a list has.
const pageSize = 25

// maxPage bounds how far a list can be turned: the database would read all that
// it leaves out.
const maxPage = 1000

// pageNumber is the page of a list, from 0.
func (v *visit) pageNumber() int64 {
	if v.values.Get("page") == "" {
		return 0
	}
	n := v.number("page")
	if n > maxPage {
		v.fail(http.StatusBadRequest, fmt.Sprintf("lists have %d pages at most", maxPage))
	}
	return n
}

// turn ends a list: with a text if it is empty, and with the link to the next page if it
// is full.
func (v *visit) turn(interaction, empty string, shown int, page int64, params ...string) {
	switch {
	case shown == 0:
		v.element("p", empty)
	case shown == pageSize && page < maxPage:
		v.link(interaction, "Next page", append(params, "page", number(page+1))...)
	}
}

// ids makes numbers of new rows. They are made here, not by the database, so that
// they are the same in all copies of it, and different from those of other
// processes: milliseconds since 2020 above 22 bits that are drawn.
type ids struct{ last atomic.Int64 }

const idBits = 22

var idEpoch = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (x *ids) next(draw int64) int64 {
	for {
		last := x.last.Load()
		id := max(time.Since(idEpoch).Milliseconds()<<idBits|draw&(1<<idBits-1), last+1)
		if x.last.CompareAndSwap(last, id) {
			return id
		}
	}
}

// now is the date of what is written, as the database has it: Unix milliseconds.
// The application says it, so that it is the same in all copies of a database.
func now() int64 { return time.Now().UnixMilli() }
