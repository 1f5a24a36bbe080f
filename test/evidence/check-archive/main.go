// Checks an evidence archive with Go's zip reader and checksum database code. It shares no code with Countersign.
//
//	go run main.go ARCHIVE KEYS
//
// KEYS is a file of verifier keys, one a line. The program prints what it checked, and ends with code 1 at the first difference.
package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
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
	archive, err := zip.OpenReader(os.Args[1])
	must(err)
	files := map[string][]byte{}
	for _, file := range archive.File {
		files[file.Name] = contents(file)
	}
	checkManifest(files)
	tree := open(verifiers(os.Args[2]), files["log/checkpoint.txt"])
	receipts := 0
	for name, text := range files {
		if strings.HasPrefix(name, "receipts/") {
			checkReceipt(name, text, string(files["log/checkpoint.txt"]), tree)
			receipts++
		}
	}
	fmt.Printf("%d receipts hold under checkpoint %d\n", receipts, tree.N)
	first, last := checkRange(files, tree)
	fmt.Printf("no entry from %d to %d is missing\n", first, last)
}

func checkManifest(files map[string][]byte) {
	var manifest struct {
		Files map[string]string `json:"files"`
	}
	must(json.Unmarshal(files["MANIFEST.json"], &manifest))
	if len(manifest.Files) != len(files)-1 {
		log.Fatal("the manifest has other files than the archive")
	}
	for name, expected := range manifest.Files {
		sum := sha256.Sum256(files[name])
		if hex.EncodeToString(sum[:]) != expected {
			log.Fatalf("%s has another hash than the manifest says", name)
		}
	}
	fmt.Printf("%d files have the hashes of the manifest\n", len(manifest.Files))
}

func checkReceipt(name string, text []byte, checkpoint string, tree tlog.Tree) {
	var of receipt
	must(json.Unmarshal(text, &of))
	if of.Checkpoint != checkpoint || len(of.Entries) == 0 {
		log.Fatalf("%s has another checkpoint, or no entry", name)
	}
	for _, entry := range of.Entries {
		leaf := tlog.RecordHash([]byte(entry.Leaf))
		must(tlog.CheckRecord(hashes(entry.Proof), tree.N, tree.Hash, entry.Index, leaf))
	}
}

// checkRange computes the root of the tree from the leaves of the audit records and the hashes beside them.
func checkRange(files map[string][]byte, tree tlog.Tree) (int64, int64) {
	var proof struct {
		First, Last int64
		Hashes      []string
	}
	must(json.Unmarshal(files["log/range.json"], &proof))
	leaves := map[int64]tlog.Hash{}
	for _, line := range bytes.Split(bytes.TrimSpace(files["records/audit.jsonl"]), []byte("\n")) {
		var record struct {
			Entry int64
			Leaf  string
		}
		must(json.Unmarshal(line, &record))
		leaves[record.Entry] = tlog.RecordHash([]byte(record.Leaf))
	}
	beside := hashes(proof.Hashes)
	var rootOf func(from, to int64) tlog.Hash
	rootOf = func(from, to int64) tlog.Hash {
		if to <= proof.First || from > proof.Last {
			if len(beside) == 0 {
				log.Fatal("the proof of the range is too short")
			}
			hash := beside[0]
			beside = beside[1:]
			return hash
		}
		if to-from == 1 {
			leaf, found := leaves[from]
			if !found {
				log.Fatalf("entry %d is missing", from)
			}
			return leaf
		}
		split := int64(1)
		for split*2 < to-from {
			split *= 2
		}
		left := rootOf(from, from+split)
		return tlog.NodeHash(left, rootOf(from+split, to))
	}
	if rootOf(0, tree.N) != tree.Hash || len(beside) != 0 {
		log.Fatal("the audit records are not those of the log")
	}
	return proof.First, proof.Last
}

func verifiers(path string) note.Verifiers {
	text, err := os.ReadFile(path)
	must(err)
	var list []note.Verifier
	for _, line := range strings.Fields(string(text)) {
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
		decoded, err := base64.StdEncoding.DecodeString(text)
		must(err)
		var hash tlog.Hash
		if copy(hash[:], decoded) != len(hash) || len(decoded) != len(hash) {
			log.Fatalf("%q is no hash", text)
		}
		list = append(list, hash)
	}
	return list
}

func contents(file *zip.File) []byte {
	reader, err := file.Open()
	must(err)
	defer reader.Close()
	text, err := io.ReadAll(reader)
	must(err)
	return text
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
