import type { OrgAuditRecord } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { moneyText } from "../money.ts";
import { Data } from "../tables/data.tsx";
import { DeedWords } from "./wants.tsx";

/** Links to the subject of an audit row. Shows nothing for rows about the whole organization. */
export function Subject({ row: { intent_id, about, data } }: { readonly row: OrgAuditRecord }) {
  if (intent_id !== null)
    return (
      <Shown>
        <Link to="/decisions/$intent_id" params={{ intent_id }}>
          {about === undefined ? "the decision" : <Action about={about} />}
        </Link>
      </Shown>
    );
  const text = (name: string) => (typeof data[name] === "string" ? data[name] : null);
  const policy_id = text("policy_id");
  if (policy_id !== null)
    return (
      <Shown>
        <Link to="/policies/$policy_id" params={{ policy_id }}>
          <Data text={text("name") ?? policy_id} more={false} />
        </Link>
      </Shown>
    );
  const agent_id = text("agent_id");
  if (agent_id !== null)
    return (
      <Shown>
        <Link to="/agent" search={{ id: agent_id } as never}>
          <Data text={agent_id} more={false} />
        </Link>
      </Shown>
    );
  const place = places.find(([name]) => text(name) !== null);
  if (place === undefined) return null;
  const [name, to] = place;
  return (
    <Shown>
      <Link to={to}>
        <Data text={text("name") ?? text("email") ?? text("url") ?? text(name) ?? ""} more={false} />
      </Link>
    </Shown>
  );
}

const Shown = ({ children }: { readonly children: ReactNode }) => <div className="small">{children}</div>;

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
