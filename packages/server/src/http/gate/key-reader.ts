/**
 * Reads presented keys from the database, many requests with one statement.
 *
 * A request that asks during a statement waits for the next one, because a statement's snapshot is taken after it was
 * sent. So every request sees all revocations that were answered before it began. A thousand concurrent requests cost
 * two statements instead of a thousand.
 */
import type { Database } from "../../store/database/db.ts";
import { type PresentedKey, readOpenMode, readPresentedKeys } from "../../store/keys/keys.ts";

/** The current state of open mode. `auth_epoch` null: its organization does not exist. */
interface OpenModeRow {
  readonly key_ever_created: boolean;
  readonly auth_epoch: number | null;
}

/** The statements of the gate. */
export interface KeyReader {
  /** Returns the key with this hash (base64), or undefined. Rejects if the database does not answer. */
  read(hash: string): Promise<PresentedKey | undefined>;
  /** Returns the state of open mode. */
  openMode(): Promise<OpenModeRow>;
}

/** Returns a function that runs `work` once for all callers that ask before it starts. One run at a time. */
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

/** Creates the reader of one node. `open_mode_org_id` is the organization of open mode. */
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
