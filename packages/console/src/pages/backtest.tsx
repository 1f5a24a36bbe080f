import { PageHead } from "../parts/page-head.tsx";
import { Empty, Failed, Loading } from "../parts/states.tsx";
import { BacktestForm } from "./backtest/backtest-form.tsx";
import { type BacktestRun, useBacktestRun } from "./backtest/backtest-run.ts";
import { KeptList } from "./backtest/kept-list.tsx";
import { useScope } from "./backtest/scope.ts";

export function BacktestPage() {
  const [scope, setScope] = useScope();
  const backtest = useBacktestRun(scope);
  const { run } = backtest;
  return (
    <>
      <PageHead
        title="Backtest"
        about="Decides recorded actions again under other rules, with their original facts and times. Changes nothing."
      />
      <BacktestForm scope={scope} onScope={setScope} running={run.isPending} onRun={() => run.mutate()} />
      {run.isPending && <Running backtest={backtest} />}
      {run.error !== null && <NoResult error={run.error} onRun={() => run.mutate()} />}
      <KeptList />
    </>
  );
}
function Running({ backtest: { progress, stop } }: { readonly backtest: BacktestRun }) {
  return (
    <section className="card stack tight">
      <Loading what="the backtest" />
      <div className="row between">
        <span className="small muted" aria-live="polite">
          {progress === null ? "Beginning …" : `${progress.evaluated.toLocaleString("en")} decided again`}
        </span>
        <button type="button" className="button small" onClick={stop}>
          Stop
        </button>
      </div>
    </section>
  );
}

function NoResult({ error, onRun }: { readonly error: Error; readonly onRun: () => void }) {
  if (error.name === "AbortError")
    return (
      <section className="card" role="status">
        <Empty title="Stopped early">
          <p>Nothing was changed. Run it again, or over a shorter time.</p>
        </Empty>
      </section>
    );
  return (
    <section className="card">
      <Failed error={error} retry={onRun} />
    </section>
  );
}
