import type { OrgAuditRecord } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { moneyText } from "../money.ts";
import { Data } from "../tables/data.tsx";
import { DeedWords } from "./wants.tsx";

/** Links to the subject of an audit row. Shows nothing for rows about the whole organization. */
export function Subject({ row: { intent_id, about, data } }: { readonly row: OrgAuditRecord }) {
  if (intent_id !== null)
    return (
      <Link to="/decisions/$intent_id" params={{ intent_id }}>
        {about === undefined ? "the decision" : <Action about={about} />}
      </Link>
    );
  const text = (name: string) => (typeof data[name] === "string" ? data[name] : null);
  const policy_id = text("policy_id");
  if (policy_id !== null)
    return (
      <Link to="/policies/$policy_id" params={{ policy_id }}>
        <Data text={text("name") ?? policy_id} more={false} />
      </Link>
    );
  const agent_id = text("agent_id");
  if (agent_id !== null)
    return (
      <Link to="/agent" search={{ id: agent_id } as never}>
        <Data text={agent_id} more={false} />
      </Link>
    );
  const place = places.find(([name]) => text(name) !== null);
  if (place === undefined) {
    const named = text("name") ?? text("email") ?? text("url");
    return named === null ? null : <Data text={named} more={false} />;
  }
  const [name, to] = place;
  return (
    <Link to={to}>
      <Data text={text("name") ?? text("email") ?? text("url") ?? text(name) ?? ""} more={false} />
    </Link>
  );
}

/** Members of a row's data that name a thing, and the page that lists it. */
const places = [
  ["membrane_id", "/membranes"],
  ["key_id", "/keys"],
  ["webhook_id", "/webhooks"],
  ["stream_id", "/streams"],
  ["user_id", "/people"],
  ["invitation_id", "/people"],
  ["grant_id", "/grants"],
] as const;

function Action({
  about: { agent_id, type, verb, target, amount_usd },
}: {
  readonly about: NonNullable<OrgAuditRecord["about"]>;
}) {
  return (
    <>
      <Data text={agent_id} more={false} />
      {": "}
      <DeedWords type={type} verb={verb} /> {target !== null && <Data text={target} chars_max={120} more={false} />}
      {amount_usd !== null && ` (${moneyText(amount_usd)})`}
    </>
  );
}
