import { migrate } from "../../store/database/migrate.ts";
import { startDatabase, startRefusal } from "../../store/database/start-database.ts";
import { createLog } from "../log.ts";
import type { Service } from "../main.ts";
import type { Config } from "../start/config.ts";
import { openMasterKeys } from "../start/master-key.ts";
import { Crew } from "./crew.ts";

export interface SupervisedService extends Service {
  /** Replaces one worker after another. */
  restart(): Promise<void>;
}

/** For one worker with one running backtest (docs/how-to/size-postgresql.md), and for commands. */
const sessions_per_worker = 32;
const sessions_beside = 36;

/** The workers share the port, the database and the rate windows. Throws `StartRefused` with one line a problem. */
export async function startSupervisor(
  config: Config,
  count: number,
  log = createLog(config.log_level),
): Promise<SupervisedService> {
  const settings = { max_connections: String(Math.max(100, sessions_beside + sessions_per_worker * count)) };
  const database = await startDatabase({ ...config, search: { path: config.path }, settings }, log);
  const crew = new Crew(database.connection, log);
  try {
    await migrate(database.connection, log);
    await openMasterKeys(config);
    const url = await crew.start(count);
    return {
      url,
      restart: () => crew.restart(),
      async stop() {
        await crew.stop();
        await database.stop();
      },
    };
  } catch (error) {
    await crew.stop();
    await database.stop();
    throw startRefusal(error);
  }
}
