/** Checks the checkpoint of an archive. */
import { parseCheckpoint, parseNote, parseVerifierKey, signatureBy, type TreeHead } from "@countersign/core";
import type { Checking } from "./checking.ts";
import { names } from "./layout.ts";
import { Damaged } from "./zip-reader.ts";

const text_bytes_max = 65_536;

export interface Head extends Pick<TreeHead, "size"> {
  readonly origin: string;
  /** Hex. */
  readonly root: string;
  /** As in the archive. */
  readonly text: string;
  /** The key that was given and signed. */
  readonly signed_by: string;
}

/** Returns the checkpoint if a key that the reader gave signed it; else adds a problem and returns null. */
export async function headSigned({ zip, terms, manifest, problems }: Checking): Promise<Head | null> {
  try {
    const text = (await zip.bytes(names.checkpoint, text_bytes_max)).toString("utf8");
    const note = parseNote(text);
    const head = note === null ? null : parseCheckpoint(note.text);
    if (note === null || head === null) throw new Damaged(`${names.checkpoint} is no signed checkpoint`);
    const { origin, size, root } = head;
    if (!origin.endsWith(`/${manifest.org_id}`))
      throw new Damaged(`${names.checkpoint} is of the log ${origin}, and not of the organization ${manifest.org_id}`);
    const key = terms.keys.find((each) => {
      const parsed = parseVerifierKey(each.trim());
      return parsed !== null && parsed.name === origin && signatureBy(note, parsed) !== null;
    });
    if (key === undefined) throw new Damaged(`no key that you gave signed ${names.checkpoint}, of the log ${origin}`);
    return {
      origin,
      size,
      root: Buffer.from(root).toString("hex"),
      text,
      signed_by: key.trim().split("+").slice(0, 2).join("+"),
    };
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    problems.add(error.message);
    return null;
  }
}
