package board

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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

// visit is one request to the application on its way.
type visit struct {
	app  *app
	form url.Values
	page *page
	db   *session // nil where the interaction has no queries, and the database no work
}

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// answer makes the page of interaction i.
func (a *app) answer(w http.ResponseWriter, r *http.Request, i int, interaction Interaction, p *page) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.show(formFault(err))
		return
	}
	v := &visit{app: a, form: r.Form, page: p}
	err := a.visit(r.Context(), v, i, interaction)
	var f *fault
	switch {
	case err == nil:
	case errors.As(err, &f):
		p.show(f)
	default:
		p.show(&fault{http.StatusInternalServerError, err.Error()})
	}
}

func formFault(err error) *fault {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &fault{http.StatusRequestEntityTooLarge, fmt.Sprintf("a form may send %d bytes", large.Limit)}
	}
	return &fault{http.StatusBadRequest, "the form cannot be read: " + err.Error()}
}

// visit queries, writes the page, and has the database work, over one
// connection.
func (a *app) visit(ctx context.Context, v *visit, i int, interaction Interaction) error {
	work := a.dbWork[i]
	if !interaction.queries && work == 0 && a.dbWait == 0 {
		return interaction.page(v)
	}
	from := a.databases.read
	if interaction.Write {
		from = a.databases.write
	}
	p := a.databases.choose(from)
	var err error
	if v.db, err = p.take(ctx); err != nil {
		return err
	}
	defer p.give(v.db)
	if err := interaction.page(v); err != nil {
		return err
	}
	if err := v.db.work(work); err != nil { //nolint:contextcheck // queries are not ended: see background
		return err
	}
	return v.db.wait(a.dbWait) //nolint:contextcheck // likewise
}

// text is a field of the form, of 1 to so many characters.
func (v *visit) text(name string, most int) (string, error) {
	s := v.form.Get(name)
	if s == "" || utf8.RuneCountInString(s) > most || !utf8.ValidString(s) || containsNUL(s) {
		return "", &fault{http.StatusBadRequest, fmt.Sprintf("%q must be a text of 1 to %d characters", name, most)}
	}
	return s, nil
}

func containsNUL(s string) bool {
	for i := range len(s) {
		if s[i] == 0 { // PostgreSQL stores none
			return true
		}
	}
	return false
}

// number is a field of the form that is a number of 0 or more.
func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.form.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0, &fault{http.StatusBadRequest, fmt.Sprintf("%q must be a number", name)}
	}
	return n, nil
}

// numbers reads several.
func (v *visit) numbers(names ...string) ([]int64, error) {
	values := make([]int64, len(names))
	for i, name := range names {
		var err error
		if values[i], err = v.number(name); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// old reports whether story and comments are those of the old tables.
func (v *visit) old() bool { return v.form.Get("old") == "1" }

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
func (v *visit) pageNumber() (int64, error) {
	if v.form.Get("page") == "" {
		return 0, nil
	}
	n, err := v.number("page")
	if err == nil && n > maxPage {
		err = &fault{http.StatusBadRequest, fmt.Sprintf("lists have %d pages at most", maxPage)}
	}
	return n, err
}

// turn adds the link to the next page of a list that was full.
func (v *visit) turn(interaction string, shown int, page int64, params ...string) {
	if shown == pageSize && page < maxPage {
		v.page.link(interaction, "Next page", append(params, "page", number(page+1))...)
	}
}

// ids makes numbers of new rows. They are made here, not by the database, so that
// they are the same in all copies of it, and different from those of other
// processes: milliseconds since 2020 above 22 bits that are drawn.
type ids struct{ last atomic.Int64 }

const idBits = 22

// firstID is below all ids that are made here, and above those of loaded rows.
const firstID = int64(1) << 50

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
