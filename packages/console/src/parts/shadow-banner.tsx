/** Warns where decisions are made but not enforced. */
import type { Membrane } from "@countersign/contract";
import { type Client, pagesOf } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useClient } from "../api/session.tsx";
import { Data } from "./tables/data.tsx";

/** With large catalogues, a page is shorter than requested. */
async function allMembranes(client: Client): Promise<readonly Membrane[]> {
  const membranes: Membrane[] = [];
  for await (const page of pagesOf((place) => client.listMembranes({ limit: 200, ...place })))
    membranes.push(...page.membranes);
  return membranes;
}

/** `wanted`: false for callers who may not read them. */
export function useMembranes(wanted = true) {
  const client = useClient();
  return useQuery({
    queryKey: ["membranes"],
    queryFn: () => allMembranes(client),
    enabled: wanted,
    staleTime: 30_000,
  });
}

export function ShadowBanner({ where }: { readonly where: "queue" | "overview" }) {
  const { data: membranes = [] } = useMembranes();
  const shadowed = membranes.filter((each) => each.status === "shadow");
  if (shadowed.length === 0) return null;
  const all = shadowed.length === membranes.length;
  return (
    <div className="banner shadow">
      <div>
        <strong>Shadow: nothing is held</strong>
        {all ? (
          "Every membrane is in shadow"
        ) : (
          <Data text={`In shadow: ${shadowed.map(({ name }) => name).join(", ")}`} />
        )}
        {where === "queue"
          ? ". Their agents continue whatever the verdict, and none of their actions come to this queue. "
          : ". Their decisions are made and recorded, and agents continue whatever the verdict. "}
        <Link to="/membranes">See what would have been stopped</Link>
      </div>
    </div>
  );
}
