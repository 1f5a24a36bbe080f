/** Runs a backtest and goes to its address. Stops it when the form changes or the page closes. */
import type { BacktestInput, BacktestProgress } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { type Scope, thresholdIn } from "./scope.ts";
import { windowOfDays } from "./words.ts";

export function useBacktestRun(scope: Scope) {
  const client = useClient();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [progress, setProgress] = useState<BacktestProgress | null>(null);
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const run = useMutation({
    mutationFn: async () => {
      setProgress(null);
      const controller = new AbortController();
      stopping.current = controller;
      const { days, membrane_id, agent_id } = scope;
      const candidate = await candidateOf(client, scope);
      const input: BacktestInput = {
        window: windowOfDays(Number(days), nowMs()),
        ...(candidate === null ? {} : { candidate }),
        ...(membrane_id ? { membrane_id } : {}),
        ...(agent_id ? { agent_id } : {}),
        keep: true,
      };
      return client.backtest(input, { on_progress: setProgress, signal: controller.signal });
    },
    onSuccess: async ({ backtest_id }) => {
      void queries.invalidateQueries({ queryKey: ["backtests"] });
      await navigate({ to: "/backtests/$backtest_id", params: { backtest_id } });
    },
  });
  const { reset } = run;
  const asked = JSON.stringify(scope);
  // An error belongs to the form that requested it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when any field of the form changes
  useEffect(() => {
    stopping.current?.abort();
    reset();
  }, [reset, asked]);
  return { run, progress, stop: () => stopping.current?.abort() };
}

export type BacktestRun = ReturnType<typeof useBacktestRun>;

async function candidateOf(client: Client, scope: Scope): Promise<NonNullable<BacktestInput["candidate"]> | null> {
  const { policy_ids, packs } = scope;
  const policies = await Promise.all(policy_ids.map(async (policy_id) => (await client.getPolicy(policy_id)).document));
  const [escalate_at, block_at] = [thresholdIn(scope.escalate_at), thresholdIn(scope.block_at)];
  const thresholds = {
    ...(escalate_at === undefined ? {} : { escalate_at }),
    ...(block_at === undefined ? {} : { block_at }),
  };
  const candidate = {
    ...(policies.length === 0 ? {} : { policies }),
    ...(packs === undefined ? {} : { packs: [...packs] }),
    ...(Object.keys(thresholds).length === 0 ? {} : { thresholds }),
  };
  return Object.keys(candidate).length === 0 ? null : candidate;
}
