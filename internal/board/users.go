package board

import (
	"errors"
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
	addUser    = sqlOf("INSERT INTO users (id, nickname, password, firstname, lastname, email, access, rating, date) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?)")
)

// anonymous is the user who gives no name.
const anonymous = 0

// user is who the form says it is from: anonymous without a nickname.
func (v *visit) user() (int64, error) {
	if v.form.Get("nickname") == "" {
		return anonymous, nil
	}
	id, _, err := v.login()
	return id, err
}

// login checks nickname and password.
func (v *visit) login() (id, access int64, err error) {
	nickname, err := v.text("nickname", maxName)
	if err != nil {
		return 0, 0, err
	}
	err = v.db.one(findUser, "", []any{&id, &access}, nickname, v.form.Get("password"))
	var f *fault
	if errors.As(err, &f) && f.status == http.StatusNotFound {
		err = &fault{http.StatusForbidden, "nickname or password is wrong"}
	}
	return id, access, err
}

func register(v *visit) error {
	v.page.begin("Register")
	v.page.form("RegisterUser", "post")
	v.page.input("text", "nickname", "n"+strconv.FormatInt(v.newID(), 36))
	v.page.input("password", "password", "")
	v.page.input("text", "firstname", "")
	v.page.input("text", "lastname", "")
	v.page.input("text", "email", "")
	v.page.submit("Register")
	v.page.end()
	return nil
}

func registerUser(v *visit) error {
	var values [2]string
	for i, name := range []string{"nickname", "password"} {
		var err error
		if values[i], err = v.text(name, maxName); err != nil {
			return err
		}
	}
	for _, name := range []string{"firstname", "lastname", "email"} {
		if v.form.Get(name) == "" {
			continue // they may be empty
		}
		if _, err := v.text(name, maxTitle); err != nil {
			return err
		}
	}
	added, err := v.addUser(values[0], values[1])
	if err != nil {
		return err
	}
	v.page.begin("Welcome")
	if added {
		v.page.element("p", "You are registered as "+values[0]+".")
	} else {
		v.page.element("p", "You were registered as "+values[0]+" already.")
	}
	v.page.end()
	return nil
}

// addUser stores a user, unless there is one of that name: the same user again
// where the password is right. Two who ask at once for one name are told apart by
// the database, where it can.
func (v *visit) addUser(nickname, password string) (added bool, err error) {
	taken := false
	err = v.db.each(nicknameOf, func(scan func(...any) error) error {
		taken = true
		var id int64
		return scan(&id)
	}, nickname)
	if err == nil && taken {
		if _, _, err = v.login(); err != nil {
			err = &fault{http.StatusConflict, "the nickname is taken"}
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	f := v.form
	_, err = v.db.exec(addUser, v.newID(), nickname, password, f.Get("firstname"), f.Get("lastname"), f.Get("email"), reader, now())
	if code := v.db.pool.store.Code(err); code == "1062" || code == "23505" {
		err = &fault{http.StatusConflict, "the nickname is taken"}
	}
	return true, err
}
