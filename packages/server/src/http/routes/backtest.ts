import type { BacktestProgress } from "@countersign/contract";
import { backtest } from "../../operations/backtests/backtest.ts";
import { getBacktest, listBacktests } from "../../operations/backtests/read-backtests.ts";
import type { Packs } from "../../operations/policies/read-packs.ts";
import type { Runtime } from "../../operations/runtime.ts";
import type { Handlers } from "../handler.ts";
import { ClientGone } from "../request/body.ts";
import { wantsLines } from "../request/wants-lines.ts";

export function backtestRoutes(
  runtime: Runtime,
  packs: Packs,
): Pick<Handlers, "backtest" | "getBacktest" | "listBacktests"> {
  return {
    async listBacktests({ caller, query }) {
      return { status: 200, body: await listBacktests(runtime, caller, query) };
    },
    async getBacktest({ caller, params }) {
      return { status: 200, body: { backtest: await getBacktest(runtime, caller, params.backtest_id) } };
    },
    async backtest({ caller, body, headers, left }) {
      const signal = left();
      const news = createNews();
      const following = { signal, onProgress: news.tell };
      const result = backtest({ ...runtime, packs }, caller, body, following).catch((error: unknown) => {
        throw signal.aborted ? new ClientGone() : error;
      });
      if (!wantsLines(headers["accept"])) return { status: 200, body: { backtest: await result } };
      // A refusal before the first progress has its own status.
      await Promise.race([result, news.first]);
      return { status: 200, lines: linesOf(result, news) };
    },
  };
}

const ignore = () => undefined;

/** Unread progress is replaced. */
function createNews() {
  let latest: BacktestProgress | null = null;
  let wake: () => void = ignore;
  let told: () => void = ignore;
  const first = new Promise<void>((resolve) => {
    told = resolve;
  });
  return {
    first,
    tell(progress: BacktestProgress) {
      latest = progress;
      told();
      wake();
    },
    take(): BacktestProgress | null {
      const taken = latest;
      latest = null;
      return taken;
    },
    /** Resolves when there is unread progress. */
    some: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
        if (latest !== null) resolve();
      }),
  };
}

async function* linesOf(result: Promise<object>, news: ReturnType<typeof createNews>): AsyncGenerator<string> {
  let ended = false;
  const over = () => {
    ended = true;
  };
  const end = result.then(over, over);
  while (!ended) {
    const progress = news.take();
    if (progress !== null) yield JSON.stringify({ progress });
    else await Promise.race([end, news.some()]);
  }
  yield JSON.stringify({ backtest: await result });
}
