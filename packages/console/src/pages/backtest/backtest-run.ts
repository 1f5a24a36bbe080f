/** Runs a backtest. Stops it when the form changes or the page closes. */
import type { BacktestInput, BacktestProgress } from "@countersign/contract";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import type { Scope } from "./scope.ts";

export function useBacktestRun({ policy_id, days, membrane_id, agent_id }: Scope) {
  const client = useClient();
  const [progress, setProgress] = useState<BacktestProgress | null>(null);
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const run = useMutation({
    mutationFn: async () => {
      setProgress(null);
      const controller = new AbortController();
      stopping.current = controller;
      const policy = policy_id === "" ? null : await client.getPolicy(policy_id);
      const to_ms = nowMs();
      const input: BacktestInput = {
        window: { from: new Date(to_ms - Number(days) * 86_400_000).toISOString(), to: new Date(to_ms).toISOString() },
        ...(policy === null ? {} : { candidate: { policies: [policy.document] } }),
        ...(membrane_id ? { membrane_id } : {}),
        ...(agent_id ? { agent_id } : {}),
      };
      return client.backtest(input, { on_progress: setProgress, signal: controller.signal });
    },
  });
  const { reset } = run;
  // A result belongs to the form that requested it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when any field of the form changes
  useEffect(() => {
    stopping.current?.abort();
    reset();
  }, [reset, policy_id, membrane_id, agent_id, days]);
  return { run, progress, stop: () => stopping.current?.abort() };
}

export type BacktestRun = ReturnType<typeof useBacktestRun>;
