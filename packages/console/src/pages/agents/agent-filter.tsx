import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useClient, useReads } from "../../api/session.tsx";
import { FilterField } from "../../parts/forms/field.tsx";

const suggestions_max = 8;

/** Returns the ids of agents that begin with `prefix`. Without a prefix, the first ones. */
export function useAgentIds(prefix: string, wanted = true): readonly string[] {
  const client = useClient();
  const reads = useReads();
  const { data = [] } = useQuery({
    queryKey: ["agents", "ids", prefix],
    queryFn: async () => {
      const { agents } = await client.listAgents({ limit: suggestions_max, ...(prefix === "" ? {} : { prefix }) });
      return agents.map(({ agent_id }) => agent_id);
    },
    enabled: reads && wanted,
    staleTime: 30_000,
    placeholderData: (before) => before,
  });
  return data;
}

/** A filter by agent, with suggestions for what is typed. */
export function AgentFilter(props: {
  readonly maxLength: number;
  readonly filter: string | undefined;
  readonly onFilter: (text: string) => void;
}) {
  const list = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const ids = useAgentIds(typed?.trim() ?? "", typed !== null);
  return (
    <>
      <FilterField label="Agent" {...props} list={list} autoComplete="off" onTyped={setTyped} />
      <datalist id={list}>
        {ids.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  );
}
