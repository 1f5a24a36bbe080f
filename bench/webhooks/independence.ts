/**
 * Measures the delay that a dead receiver and a backlog cause for others: the median time from an intent to the arrival
 * of its event. First for a hundred fast receivers, without and with a dead one. Then for a small organization, while
 * another drains a backlog.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../median.ts";
import { decisionLatency, type Stage, submission } from "./stage.ts";

type Organization = Awaited<ReturnType<Stage["organization"]>>;

const beat_ms = 100;
const decided = ["decision.approved", "decision.blocked", "decision.escalated"] as const;

export async function independence(stage: Stage, backlog: number, rounds: number) {
  /** Submits one intent every 100 ms. */
  async function watch({ client }: Organization, paths: readonly string[], beats: number): Promise<number[]> {
    const sent: number[] = [];
    const counts = () => paths.map((path) => stage.note().paths[path]?.length ?? 0);
    const before = counts();
    for (let beat = 0; beat < beats; beat += 1) {
      sent.push(Date.now());
      await client.submitIntent(submission);
      await sleep(Math.max(beat_ms - (Date.now() - (sent[beat] as number)), 0));
    }
    while (counts().some((count, index) => count < (before[index] ?? 0) + beats)) await sleep(20);
    return paths.flatMap((path) =>
      (stage.note().paths[path] ?? []).slice(-beats).map((at_ms, beat) => at_ms - (sent[beat] as number)),
    );
  }

  const register = ({ client }: Organization, path: string, event_types: readonly string[] = decided) =>
    client.registerWebhook({ url: `${stage.origin}${path}`, event_types: [...event_types] as never });
  const many = await stage.organization();
  const paths = Array.from({ length: 99 }, (_, n) => `/timed/${n}`);
  for (const path of paths) await register(many, path);
  await watch(many, paths, 20); // Warm-up.
  const alone: number[] = [];
  const with_dead: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    alone.push(median(await watch(many, paths, 30)));
    const dead = await register(many, `/dead/${round}`);
    with_dead.push(median(await watch(many, paths, 30)));
    await many.client.deleteWebhook(dead.id);
  }

  const small = await stage.organization();
  await register(small, "/timed/small");
  const quiet = ["/timed/small"];
  await watch(small, quiet, 10);
  const small_alone_ms = median(await watch(small, quiet, 40));
  const asking = await stage.organization();
  const idle = await decisionLatency(asking.client, (asked) => asked >= 60);
  const busy = await stage.organization();
  await register(busy, "/fast", ["quota.exceeded"]);
  const begun = stage.note().received;
  const begin = Date.now();
  await stage.addEvents(busy.org_id, backlog);
  while (stage.note().received === begun) await sleep(5);
  let drained = false;
  const arrived = () => stage.note().fast >= backlog;
  // Decisions of the small organization would be mistaken for the measured ones.
  const latency = decisionLatency(asking.client, () => drained);
  const beside = watch(small, quiet, 10);
  while (!arrived()) await sleep(10);
  const drain_ms = Date.now() - begin;
  drained = true;
  const small_beside_ms = median(await beside);
  const ratios = alone.map((each, round) => (with_dead[round] as number) / each);
  return {
    hundred_alone_p50_ms: median(alone),
    hundred_with_dead_p50_ms: median(with_dead),
    hundred_ratio: Number(median(ratios).toFixed(2)),
    small_alone_p50_ms: small_alone_ms,
    small_beside_backlog_p50_ms: small_beside_ms,
    backlog_drain_ms: drain_ms,
    api_idle_p50_ms: Number(idle.p50_ms.toFixed(2)),
    api_beside_backlog_p50_ms: Number((await latency).p50_ms.toFixed(2)),
    api_beside_backlog_p99_ms: Number((await latency).p99_ms.toFixed(2)),
  };
}
