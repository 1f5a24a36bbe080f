/**
 * Reads presented keys from the database, many requests with one statement.
 *
 * A request that asks while a statement is under way waits for the next one: a statement's snapshot is taken after it was
 * sent, so every request sees all revocations that were answered before it began, and a thousand requests at once cost
 * two statements instead of a thousand.
 */
import type { Database } from "../../store/database/db.ts";
import { type PresentedKey, readOpenMode, readPresentedKeys } from "../../store/keys/keys.ts";

/** Open mode as of now. `auth_epoch` null: its organization does not exist. */
interface OpenModeRow {
  readonly key_ever_created: boolean;
  readonly auth_epoch: number | null;
}

/** What the gate reads. */
export interface KeyReader {
  /** The key with this hash (base64), or undefined. Rejects when the database cannot answer. */
  read(hash: string): Promise<PresentedKey | undefined>;
  /** Whether open mode is on. */
  openMode(): Promise<OpenModeRow>;
}

/** Runs `work` once for all that ask before it starts; one run at a time. */
function shared<Question, Answer>(
  work: (questions: Question[]) => Promise<Answer>,
): (question: Question) => Promise<Answer> {
  let waiting: { readonly questions: Question[]; readonly answer: Promise<Answer> } | undefined;
  let running: Promise<unknown> = Promise.resolve();
  return (question) => {
    if (waiting === undefined) {
      const questions: Question[] = [];
      const answer = running.then(() => {
        waiting = undefined;
        return work(questions);
      });
      waiting = { questions, answer };
      running = answer.catch(() => undefined);
    }
    waiting.questions.push(question);
    return waiting.answer;
  };
}

/** Creates the reader of one node. `open_mode_org_id` is the organization that open mode acts for. */
export function createKeyReader(db: Pick<Database, "named">, open_mode_org_id: string): KeyReader {
  const readKeys = shared(async (hashes: string[]) => {
    const distinct = [...new Set(hashes)].map((hash) => Buffer.from(hash, "base64"));
    const rows = await db.named<PresentedKey>(readPresentedKeys, [distinct]);
    return new Map(rows.map((row) => [row.key_sha256.toString("base64"), row]));
  });
  const readMode = shared(async (_: null[]) => {
    const [row] = await db.named<OpenModeRow>(readOpenMode, [open_mode_org_id]);
    if (row === undefined) throw new Error("the table instance has no row");
    return row;
  });
  return {
    read: async (hash) => (await readKeys(hash)).get(hash),
    openMode: () => readMode(null),
  };
}
