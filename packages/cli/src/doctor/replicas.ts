import type { InspectedReplica } from "@countersign/server";
import { type Finding, note, ok, problem } from "./finding.ts";

/** Beyond this many seconds, the overview is read on the primary. */
const behind_s_max = 5;

export function replicas(found: readonly InspectedReplica[]): Finding[] {
  return found.map(finding);
}

function finding(replica: InspectedReplica): Finding {
  const { name } = replica;
  if ("unreachable" in replica)
    return problem(
      "replica",
      `${name}: ${replica.unreachable}`,
      "check DATABASE_REPLICA_URLS, and that this machine may connect; until it answers, the primary does its reads",
    );
  const { standby, same_system, behind_bytes, newest_s, feedback } = replica.state;
  if (!same_system)
    return problem(
      "replica",
      `${name}: its system identifier differs from the primary's, so it is not a copy of it and serves nothing`,
      "create it again from the primary (pg_basebackup), or remove it from DATABASE_REPLICA_URLS",
    );
  if (!standby) return ok("replica", `${name}: it is a primary, and is not read as a replica`);
  const behind_s = behind_bytes === 0 ? 0 : Math.round(newest_s ?? 0);
  const text = `${name}: a standby, ${behind_bytes.toLocaleString("en-US")} bytes behind`;
  if (behind_s > behind_s_max)
    return note(
      "replica",
      `${text}, and its newest commit is ${behind_s.toLocaleString("en-US")} s old`,
      "see pg_stat_replication on the primary: if the replica is listed, it will catch up; if not, create it again from the primary",
    );
  if (!feedback)
    return note(
      "replica",
      text,
      "set hot_standby_feedback = on there, so that the primary does not end its long reads",
    );
  return ok("replica", text);
}
