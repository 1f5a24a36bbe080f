/** Recovery that cannot finish, as on a full disk. */
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openDb } from "../../src/store/database/db.ts";
import { startEmbedded } from "../../src/store/embedded-postgres/index.ts";
import { madeDir } from "../../src/testing/database/embedded.ts";
import { silentLog } from "../../src/testing/nodes/silent-log.ts";

/** Returns the startup process while the server recovers with a checkpointer, or undefined. */
async function recoveringIn(db_dir: string): Promise<number | undefined> {
  const server = Number.parseInt(await readFile(join(db_dir, "postmaster.pid"), "utf8").catch(() => ""), 10);
  const children = await readFile(`/proc/${server}/task/${server}/children`, "utf8").catch(() => "");
  const pids = children.split(" ").filter((pid) => pid !== "");
  const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  const has = (kind: string) => names.some((name) => name.startsWith(`postgres: ${kind}`));
  return has("startup") && has("checkpointer") ? server : undefined;
}

test.skipIf(process.platform !== "linux")(
  "the embedded database continues by itself once there is space, even if its checkpointer failed unnoticed",
  async () => {
    const data_dir = await madeDir();
    const db_dir = join(data_dir, "postgres/db");
    const lines: string[] = [];
    const hear = (fields: object) => void lines.push(JSON.stringify(fields));
    const server = await startEmbedded({ data_dir }, { ...silentLog, warn: hear, debug: hear });
    onTestFinished(() => server.stop());
    const db = openDb(server.connection, silentLog);
    onTestFinished(() => db.close());
    // Enough rows to make the recovery visible.
    await db.query("create table t (n int)");
    await db.query("insert into t select generate_series(1, 500000)");
    const [session] = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
    // A directory with the name of the first checkpoint file makes every checkpoint fail.
    const in_the_way = join(db_dir, "pg_logical/replorigin_checkpoint.tmp");
    await mkdir(in_the_way);
    process.kill(session?.pid ?? 0, "SIGKILL");
    // Without sessions to refuse, because a busy server would see recovery begin and checkpointer end together.
    const seen = () => recoveringIn(db_dir);
    const recovering = await vi.waitUntil(seen, { timeout: 20_000, interval: 2 });
    process.kill(recovering, "SIGSTOP");
    await expect.poll(() => lines.some((line) => line.includes("PANIC")), { timeout: 20_000 }).toBe(true);
    await rm(in_the_way, { recursive: true });
    process.kill(recovering, "SIGCONT");
    const answer = () => db.query("select count(*)::int as n from t").catch(String);
    await expect.poll(answer, { timeout: 20_000 }).toEqual([{ n: 500_000 }]);
  },
);
