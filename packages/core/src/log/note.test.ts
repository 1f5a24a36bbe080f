import { expect, test } from "vitest";
import { checkpointText, cosignedAt, parseCheckpoint } from "./checkpoint.ts";
import {
  keyIdOf,
  type Note,
  parseNote,
  parseVerifierKey,
  publicKeyOf,
  signatureBy,
  signatureTypes,
  signNote,
  type VerifierKey,
  verifierKeyText,
} from "./note.ts";

// The examples of C2SP signed-note, tlog-checkpoint and tlog-cosignature (CC BY 4.0, c2sp.org).
const exampleKey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
const exampleNote =
  "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
const checkpointBody = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const cosigned = `${checkpointBody}
— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;
const key = parseVerifierKey(exampleKey) as VerifierKey;

test("the example of C2SP signed-note verifies with its key", () => {
  expect(keyIdOf(key)).toBe("530d903a");
  expect(verifierKeyText(key)).toBe(exampleKey);
  const note = parseNote(exampleNote) as Note;
  expect(note.text).toBe("This is an example message.\n");
  expect(signatureBy(note, key)?.line).toBe(exampleNote.slice(exampleNote.indexOf("—")));
  expect(signatureBy({ ...note, text: "This is an example massage.\n" }, key)).toBeNull();
  expect(signatureBy(note, { ...key, name: "example.com/bar" })).toBeNull();
});

test("the examples of C2SP tlog-checkpoint and tlog-cosignature are read and written byte for byte", () => {
  const note = parseNote(cosigned) as Note;
  expect(note.signatures.map(({ name, key_id }) => [name, key_id])).toEqual([
    ["example.com/behind-the-sofa", "033de0ae"],
    ["witness.example.com/w1", "8d66cf3f"],
  ]);
  const checkpoint = parseCheckpoint(note.text);
  expect(checkpoint).toMatchObject({ origin: "example.com/behind-the-sofa", size: 20_852_163 });
  expect(checkpoint === null || checkpointText(checkpoint)).toBe(checkpointBody);
  expect(`${note.text}\n${note.signatures.map(({ line }) => line).join("")}`).toBe(cosigned);
});

test("a note is signed by each key, and Ed25519 makes the same signature each time", () => {
  const signers = [1, 2].map((fill) => ({ name: "log.example/org_1", seed: Buffer.alloc(32, fill) }));
  const signed = signNote(checkpointBody, signers);
  expect(signNote(checkpointBody, signers)).toBe(signed);
  const note = parseNote(signed) as Note;
  expect(note.signatures).toHaveLength(2);
  for (const { name, seed } of signers)
    expect(signatureBy(note, { name, type: 1, public_key: publicKeyOf(seed) })).not.toBeNull();
  // RFC 8032 §7.1, test 1.
  const seed = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
  expect(Buffer.from(publicKeyOf(seed)).toString("hex")).toBe(
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  );
});

test.each([
  ["no signature", "text\n\n"],
  ["no empty line", "text\n— a AAAAAAAA\n"],
  ["no newline at the end", exampleNote.slice(0, -1)],
  ["a carriage return", exampleNote.replace("\n", "\r\n")],
  ["two spaces", exampleNote.replace("foo ", "foo  ")],
  ["a hyphen for the dash", exampleNote.replace("—", "-")],
  ["base64 with other last bits", exampleNote.replace("aQM=", "aQN=")],
  ["a plus in the name", exampleNote.replace("foo", "f+o")],
])("a note with %s is refused", (_, text) => {
  expect(parseNote(text)).toBeNull();
});

test.each([
  "x/\n01\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
  "x\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=",
  "x\n1\nCsUYapGG\n",
  "\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
  "x\n-1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
])("%j is no checkpoint", (text) => {
  expect(parseCheckpoint(text)).toBeNull();
});

test.each([
  "",
  "a+b",
  exampleKey.replace("530d903a", "530d903b"),
  `${exampleKey}=`,
  exampleKey.replace("example", "exam ple"),
])("%j is no verifier key", (text) => {
  expect(parseVerifierKey(text)).toBeNull();
});

test("a cosignature counts for its witness, text and time only", () => {
  const seed = Buffer.alloc(32, 3);
  const witness = { name: "w.example/1", type: signatureTypes.cosignature, public_key: publicKeyOf(seed) };
  const [{ signature }] = (
    parseNote(signNote(`cosignature/v1\ntime 1679315147\n${checkpointBody}`, [{ name: "w.example/1", seed }])) as Note
  ).signatures as [Note["signatures"][0]];
  const timed = (time_s: number) => {
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(time_s));
    return { name: witness.name, key_id: keyIdOf(witness), signature: Buffer.concat([time, signature]), line: "" };
  };
  expect(cosignedAt(checkpointBody, timed(1_679_315_147), witness)).toBe(1_679_315_147);
  expect(cosignedAt(checkpointBody, timed(1_679_315_148), witness)).toBeNull();
  expect(cosignedAt(`${checkpointBody}x\n`, timed(1_679_315_147), witness)).toBeNull();
  expect(cosignedAt(checkpointBody, timed(1_679_315_147), { ...witness, name: "w.example/2" })).toBeNull();
  expect(cosignedAt(checkpointBody, timed(1_679_315_147), { ...witness, type: 1 })).toBeNull();
});
