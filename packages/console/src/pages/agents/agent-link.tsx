import { Link } from "@tanstack/react-router";
import { useReads } from "../../api/session.tsx";
import { Data } from "../../parts/tables/data.tsx";

/** Links to the agent's page for callers who may read the register. */
export function AgentLink({ agent_id }: { readonly agent_id: string }) {
  const shown = <Data text={agent_id} chars_max={80} more={false} />;
  if (!useReads()) return shown;
  return (
    <Link to="/agent" search={{ id: agent_id } as never}>
      {shown}
    </Link>
  );
}
