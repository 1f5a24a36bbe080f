/**
 * Whom a dead receiver delays: the median time from an event to its arrival at each of a hundred fast receivers, without
 * and with one that never answers and has a backlog; and a small organization's median beside one that drains 10,000.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { decisionLatency, median, type Stage } from "./stage.ts";

type Organization = Awaited<ReturnType<Stage["organization"]>>;

/** Runs both and gives the figures. */
export async function independence(stage: Stage, backlog: number) {
  /** One event for each organization every 100 ms; the median of all times until it arrived. */
  async function watch(organizations: readonly { org: Organization; paths: readonly string[] }[], beats: number) {
    const sent: number[] = [];
    const counts = () =>
      organizations.flatMap(({ paths }) => paths.map((path) => stage.note().paths[path]?.length ?? 0));
    const before = counts();
    for (let beat = 0; beat < beats; beat += 1) {
      sent.push(Date.now());
      for (const { org } of organizations) await stage.addEvents(org.org_id, 1);
      await sleep(100);
    }
    while (counts().some((count, index) => count < (before[index] ?? 0) + beats)) await sleep(20);
    const delays = organizations.flatMap(({ paths }) =>
      paths.flatMap((path) =>
        (stage.note().paths[path] ?? []).slice(-beats).map((at_ms, beat) => at_ms - (sent[beat] as number)),
      ),
    );
    return median(delays);
  }

  const register = ({ client }: Organization, path: string) =>
    client.registerWebhook({ url: `${stage.origin}${path}`, event_types: ["quota.exceeded"] });
  const many = await stage.organization();
  const paths = Array.from({ length: 99 }, (_, n) => `/timed/${n}`);
  for (const path of paths) await register(many, path);
  const watched = [{ org: many, paths }];
  await watch(watched, 10); // warm
  const alone_ms = await watch(watched, 40);
  const dead = await register(many, "/dead/1");
  const with_dead_ms = await watch(watched, 40);
  await many.client.deleteWebhook(dead.id);

  const small = await stage.organization();
  await register(small, "/timed/small");
  const quiet = [{ org: small, paths: ["/timed/small"] }];
  const small_alone_ms = await watch(quiet, 40);
  const idle_ms = await decisionLatency(small.client, (asked) => asked >= 60);
  const busy = await stage.organization();
  await register(busy, "/fast");
  const target = stage.note().received + backlog;
  const begin = Date.now();
  await stage.addEvents(busy.org_id, backlog);
  let drained = false;
  const latency = decisionLatency(small.client, () => drained);
  const small_beside_ms = await watch(quiet, 10);
  while (stage.note().received < target) await sleep(10);
  const drain_ms = Date.now() - begin;
  drained = true;
  return {
    hundred_alone_p50_ms: alone_ms,
    hundred_with_dead_p50_ms: with_dead_ms,
    small_alone_p50_ms: small_alone_ms,
    small_beside_backlog_p50_ms: small_beside_ms,
    backlog_drain_ms: drain_ms,
    api_idle_p50_ms: Number(idle_ms.toFixed(2)),
    api_beside_backlog_p50_ms: Number((await latency).toFixed(2)),
  };
}
