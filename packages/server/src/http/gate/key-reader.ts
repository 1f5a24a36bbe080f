/**
 * Reads presented keys, many with one statement. A request that asks during a statement waits for the next one, because
 * the snapshot is taken after sending. So every request sees all revocations answered before it began.
 */
import type { Database } from "../../store/database/db.ts";
import { type PresentedKey, readOpenMode, readPresentedKeys } from "../../store/keys/keys.ts";

/** `auth_epoch` null: there is no open mode's organization. */
interface OpenModeRow {
  readonly key_ever_created: boolean;
  readonly auth_epoch: number | null;
}

export interface KeyReader {
  /** `hash` is base64. Rejects if the database does not answer. */
  read(hash: string): Promise<PresentedKey | undefined>;
  openMode(): Promise<OpenModeRow>;
}

/** Runs `work` once for all callers that ask before it starts. One run at a time. */
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
