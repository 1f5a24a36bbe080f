/** What agents asked a membrane for and no rule names: the rules may know it by another word. */
import { type Coverage, foldName, type Membrane, unclassified_action_type } from "@countersign/contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useClient, useMay } from "../api/session.tsx";
import { useSeen } from "../browser/seen.ts";
import { ToolDialog } from "./forms/tool-dialog.tsx";
import { Loaded } from "./states.tsx";
import { Data } from "./tables/data.tsx";
import { ListTable } from "./tables/list-table.tsx";

/** So many are listed; the interface gives more. */
const shown_max = 20;

/** Of the last 31 days, under the membrane's card. Read once it is seen. */
export function Uncovered({ membrane }: { readonly membrane: Membrane }) {
  const { membrane_id } = membrane;
  const client = useClient();
  const [element, seen] = useSeen<HTMLDivElement>();
  const query = useQuery({
    // Read again with the membranes: what is changed there changes which rules there are, and what a tool is.
    queryKey: ["membranes", membrane_id, "coverage"],
    enabled: seen,
    queryFn: () => client.getCoverage(membrane_id),
    staleTime: 30_000,
  });
  return (
    <div className="stack tight" ref={element}>
      <h3>What no rule is about</h3>
      <Loaded query={query} what="what no rule is about">
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
  const asked = `${complete ? "" : "the newest "}${intents.toLocaleString("en")} actions of the last 31 days`;
  if (intents === 0) return <p className="muted">Nothing was asked for in the last 31 days.</p>;
  if (count === 0) return <p className="muted">{`Of ${asked} each is named by a rule that is in force.`}</p>;
  const others = every_action.length === 0 ? "" : `${rulesText(every_action.length)} about every action, and `;
  return (
    <>
      <p>
        <strong>{`Of ${asked} no rule names ${count.toLocaleString("en")}.`}</strong>
        {` All that judges such an action is ${others}what holds when no rule fires: ${default_verdict}. Where a rule should have known it, have the agent call it by the rule’s words, or say what the tool is.`}
      </p>
      <ListTable
        heads={["Tool", "Action type", "Data classes", "Asked for", "Held"]}
        numbers={2}
        actions={may}
        caption="What no rule is about"
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
                    Say what it is
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
