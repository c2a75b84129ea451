package queue

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/scalebench/scalebench/internal/identity"
)

// Save writes the info for [ReadServerInfo]. The file is replaced whole or not
// at all: a token is redeemed only once, so what it gave must not get lost, and
// others may read the file at the same time.
func (i ServerInfo) Save(file string) error {
	data, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("encoding the server's address: %w", err)
	}
	if err := identity.WritePrivate(file, data); err != nil {
		return fmt.Errorf("keeping the server's address: %w", err)
	}
	return nil
}

// ReadServerInfo reads what Save has written.
func ReadServerInfo(file string) (ServerInfo, error) {
	var info ServerInfo
	data, err := os.ReadFile(file)
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(data, &info)
}
