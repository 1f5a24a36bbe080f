// Checks a log and receipts with Go's checksum database code, golang.org/x/mod/sumdb. It shares no code with Countersign.
//
//	go run main.go FOLDER
//
// FOLDER has `key` (verifier keys, one a line), `checkpoint`, `older` (an earlier checkpoint), `consistency.json` (the proof from `older`),
// `tile/<L>/<N>` and `receipt.json`. The program prints what it checked, and ends with code 1 at the first difference.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type receipt struct {
	Checkpoint string `json:"checkpoint"`
	Entries    []struct {
		Index int64    `json:"index"`
		Leaf  string   `json:"leaf"`
		Proof []string `json:"proof"`
	} `json:"entries"`
}

func main() {
	log.SetFlags(0)
	folder := os.Args[1]
	keys := verifiers(folder)
	newest := open(keys, read(folder, "checkpoint"))
	older := open(keys, read(folder, "older"))

	var proof []string
	must(json.Unmarshal(read(folder, "consistency.json"), &proof))
	must(tlog.CheckTree(hashes(proof), newest.N, newest.Hash, older.N, older.Hash))
	fmt.Printf("checkpoint %d extends checkpoint %d\n", newest.N, older.N)

	reader := tlog.TileHashReader(newest, tiles{folder})
	root, err := tlog.TreeHash(newest.N, reader)
	must(err)
	if root != newest.Hash {
		log.Fatal("the tiles have another root than the checkpoint")
	}
	fmt.Printf("the tiles have the root of checkpoint %d\n", newest.N)

	var of receipt
	must(json.Unmarshal(read(folder, "receipt.json"), &of))
	tree := open(keys, []byte(of.Checkpoint))
	for _, entry := range of.Entries {
		leaf := tlog.RecordHash([]byte(entry.Leaf))
		must(tlog.CheckRecord(hashes(entry.Proof), tree.N, tree.Hash, entry.Index, leaf))
		stored, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, entry.Index)})
		must(err)
		if stored[0] != leaf {
			log.Fatalf("entry %d of the receipt is not the one in the tiles", entry.Index)
		}
	}
	fmt.Printf("%d entries are included\n", len(of.Entries))
}

func verifiers(folder string) note.Verifiers {
	var list []note.Verifier
	for _, line := range strings.Fields(string(read(folder, "key"))) {
		key, err := note.NewVerifier(line)
		must(err)
		list = append(list, key)
	}
	return note.VerifierList(list...)
}

func open(keys note.Verifiers, text []byte) tlog.Tree {
	signed, err := note.Open(text, keys)
	must(err)
	lines := strings.Split(signed.Text, "\n")
	if len(lines) != 4 || lines[0] != signed.Sigs[0].Name {
		log.Fatal("not a checkpoint of this log")
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	return tlog.Tree{N: size, Hash: hashes(lines[2:3])[0]}
}

func hashes(texts []string) []tlog.Hash {
	list := []tlog.Hash{}
	for _, text := range texts {
		bytes, err := base64.StdEncoding.DecodeString(text)
		must(err)
		var hash tlog.Hash
		if copy(hash[:], bytes) != len(hash) || len(bytes) != len(hash) {
			log.Fatalf("%q is no hash", text)
		}
		list = append(list, hash)
	}
	return list
}

// tiles reads the files of C2SP tlog-tiles. Their paths lack Go's tile height.
type tiles struct{ folder string }

func (t tiles) Height() int { return 8 }

func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		found = append(found, read(t.folder, strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
	}
	return found, nil
}

func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func read(folder, name string) []byte {
	bytes, err := os.ReadFile(filepath.Join(folder, name))
	must(err)
	return bytes
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
