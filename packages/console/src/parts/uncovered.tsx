/** Actions that no rule names. The rules may use another word for them. */
import { type Coverage, foldName, type Membrane, unclassified_action_type } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { useSeen } from "../browser/seen.ts";
import { ToolDialog } from "./forms/tool-dialog.tsx";
import { Loaded } from "./states.tsx";
import { Data } from "./tables/data.tsx";
import { ListTable } from "./tables/list-table.tsx";

const shown_max = 20;

/** Shows the last 31 days. Reads them when they are on the screen. */
export function Uncovered({ membrane }: { readonly membrane: Membrane }) {
  const { membrane_id } = membrane;
  const client = useClient();
  const [element, seen] = useSeen<HTMLDivElement>();
  const query = useQuery({
    // Read again with the membranes, because their rules and catalogue change the result.
    queryKey: ["membranes", membrane_id, "coverage"],
    enabled: seen,
    queryFn: () => client.getCoverage(membrane_id),
    staleTime: 30_000,
  });
  return (
    <div className="stack tight" ref={element}>
      <h3>Actions without a rule</h3>
      <Loaded query={query} what="actions without a rule">
        {(coverage) => <Report coverage={coverage} membrane={membrane} />}
      </Loaded>
    </div>
  );
}

function Report({
  coverage: { intents, complete, actions, every_action },
  membrane: { membrane_id, default_verdict, action_catalogue },
}: {
  readonly coverage: Coverage;
  readonly membrane: Membrane;
}) {
  const may = useMay("admin");
  const [asked_of, setAskedOf] = useState<Coverage["actions"][number] | null>(null);
  const unnamed = actions.filter(({ rules }) => rules.length === 0);
  const count = unnamed.reduce((sum, each) => sum + each.count, 0);
  const asked = `${complete ? "" : "the newest "}${intents.toLocaleString("en")} actions in the last 31 days`;
  if (intents === 0) return <p className="muted">There were no actions in the last 31 days.</p>;
  if (count === 0) return <p className="muted">{`Each of ${asked} matched an active rule.`}</p>;
  const others = every_action.length === 0 ? "" : `${rulesText(every_action.length)} about every action applied. `;
  return (
    <>
      <p>
        <strong>{`${count.toLocaleString("en")} of ${asked} matched no rule.`}</strong>
        {` ${others}The default decides these: ${default_verdict}. If a rule should match, let the agent use the rule’s words, or describe the tool.`}
      </p>
      <ListTable
        heads={["Tool", "Action type", "Data classes", "Asked for", "Held or blocked"]}
        numbers={2}
        actions={may}
        caption="Actions without a rule"
      >
        {unnamed.slice(0, shown_max).map((action) => {
          const { verb, type, data_classes, count, held } = action;
          return (
            <tr key={JSON.stringify([verb, type, data_classes])}>
              <td className="mono">
                <Data text={verb} />
              </td>
              <td className="mono">
                <Data text={type} />
              </td>
              <td>{data_classes.length === 0 ? "none" : <Data text={data_classes.join(", ")} />}</td>
              <td className="num">{count.toLocaleString("en")}</td>
              <td className="num">{held.toLocaleString("en")}</td>
              {may && (
                <td>
                  <button type="button" className="button small" onClick={() => setAskedOf(action)}>
                    Describe the tool
                  </button>
                </td>
              )}
            </tr>
          );
        })}
      </ListTable>
      {unnamed.length > shown_max && (
        <p className="small muted">{`The ${shown_max} most frequent of ${unnamed.length.toLocaleString("en")}.`}</p>
      )}
      {asked_of !== null && (
        <ToolDialog
          membrane_id={membrane_id}
          tool={{
            verb: asked_of.verb,
            type: asked_of.type === unclassified_action_type ? "" : asked_of.type,
            data_classes: [],
          }}
          known={action_catalogue.some(({ verb }) => foldName(verb) === foldName(asked_of.verb))}
          onClose={() => setAskedOf(null)}
        />
      )}
    </>
  );
}

const rulesText = (count: number) => `${count.toLocaleString("en")} rule${count === 1 ? "" : "s"}`;
