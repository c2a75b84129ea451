package board

import (
	"net/http"
	"strconv"
)

// Rights of users.
const (
	reader = 0
	author = 1
)

var (
	findUser   = sqlOf("SELECT id, access FROM users WHERE nickname = ? AND password = ?")
	nicknameOf = sqlOf("SELECT id FROM users WHERE nickname = ?")
	addUser    = sqlOf(`INSERT INTO users (id, nickname, password, firstname, lastname, email, access, rating, date)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)`)
)

// anonymous is the user who gives no name.
const anonymous = 0

// user is who the form says it is from: anonymous without a nickname.
func (v *visit) user() int64 {
	if v.values.Get("nickname") == "" {
		return anonymous
	}
	id, _ := v.login()
	return id
}

// login checks nickname and password.
func (v *visit) login() (id, access int64) {
	nickname := v.text("nickname", maxName)
	if v.each(findUser, []any{&id, &access}, nil, nickname, v.values.Get("password")) == 0 {
		v.fail(http.StatusForbidden, "nickname or password is wrong")
	}
	return id, access
}

// personal are fields of a user that may be empty.
var personal = []string{"firstname", "lastname", "email"}

func register(v *visit) {
	v.begin("Register")
	v.form("RegisterUser", "post")
	v.input("text", "nickname", "n"+strconv.FormatInt(v.newID(), 36))
	v.input("password", "password", "")
	for _, name := range personal {
		v.input("text", name, "")
	}
	v.submit("Register")
}

func registerUser(v *visit) {
	nickname, password := v.text("nickname", maxName), v.text("password", maxName)
	for _, name := range personal {
		if v.values.Get(name) != "" {
			v.text(name, maxTitle)
		}
	}
	text := "You are registered as " + nickname + "."
	if !v.addUser(nickname, password) {
		text = "You were registered as " + nickname + " already."
	}
	v.begin("Welcome")
	v.element("p", text)
}

// addUser stores a user, unless there is one of that name: the same user again
// where the password is right. Two who ask at once for one name are told apart by
// the database, where it can.
func (v *visit) addUser(nickname, password string) (added bool) {
	taken := &fault{http.StatusConflict, "the nickname is taken"}
	var id int64
	if v.each(nicknameOf, []any{&id}, nil, nickname) > 0 {
		if v.login(); v.err != nil {
			v.err = taken
		}
		return false
	}
	args := []any{v.newID(), nickname, password}
	for _, name := range personal {
		args = append(args, v.values.Get(name))
	}
	v.exec(addUser, append(args, reader, now())...)
	if code := v.db.pool.Code(v.err); code == "1062" || code == "23505" {
		v.err = taken
	}
	return true
}
