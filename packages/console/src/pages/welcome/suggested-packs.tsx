import type { Intake, Pack, Quickstart } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Failed, Loaded } from "../../parts/states.tsx";
import { Data } from "../../parts/tables/data.tsx";

interface Props {
  readonly admin: Client;
  readonly made: Pick<Quickstart, "membrane_id"> & Pick<Intake, "recommended_packs">;
}

/** Switches on the packs that fit the description, and names the facts that their rules read. */
export function SuggestedPacks({ admin, made: { membrane_id, recommended_packs } }: Props) {
  const names = recommended_packs.map(({ pack }) => pack);
  const packs = useQuery({
    queryKey: ["suggested-packs", ...names],
    queryFn: () => Promise.all(names.map((name) => admin.getPack(name))),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [on, setOn] = useState<readonly string[] | null>(null);
  const change = useMutation({
    mutationFn: async (chosen: readonly string[]) => {
      const { packs: present } = await admin.getMembrane(membrane_id);
      const kept = present.filter((name) => !names.includes(name));
      await admin.changeMembrane(membrane_id, { packs: [...kept, ...chosen] });
      return chosen;
    },
    onSuccess: setOn,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    change.mutate(new FormData(event.currentTarget).getAll("packs").map(String));
  };
  return (
    <section className="card stack">
      <h2>2. Switch on the rules</h2>
      {names.length === 0 ? (
        <p className="muted">No pack fits your description. You can choose packs later, for each membrane.</p>
      ) : (
        <Loaded query={packs} what="the suggested packs">
          {(suggested) => (
            <form className="stack" onSubmit={submit}>
              <p className="muted">
                These packs fit your description. They decide in shadow first: they record, and stop nothing.
              </p>
              {suggested.map((pack) => (
                <Suggested
                  key={pack.name}
                  pack={pack}
                  because={recommended_packs.find(({ pack: name }) => name === pack.name)?.because ?? ""}
                />
              ))}
              {change.error !== null && <Failed error={change.error} />}
              <div className="actions start">
                <button type="submit" className={on === null ? "button primary" : "button"} disabled={change.isPending}>
                  {on === null ? "Switch on" : "Change"}
                </button>
                {on !== null && <span role="status">{on.length === 0 ? "None is on." : `On: ${on.join(", ")}.`}</span>}
              </div>
            </form>
          )}
        </Loaded>
      )}
    </section>
  );
}

function Suggested({ pack, because }: { readonly pack: Pack; readonly because: string }) {
  const { name, title, rules, facts } = pack;
  return (
    <div className="stack tight">
      <label className="row">
        <input type="checkbox" name="packs" value={name} defaultChecked />
        <strong>{title}</strong>
        <span className="small muted">{`${rules.length} rules`}</span>
      </label>
      <p className="small muted">
        <Data text={because} />
      </p>
      {facts.length > 0 && (
        <details>
          <summary>{`Your systems send ${facts.length === 1 ? "one fact" : `${facts.length} facts`}`}</summary>
          <ul className="small">
            {facts.map(({ path, assurance }) => (
              <li key={path}>
                <span className="mono">{path}</span> <span className="muted">{assurance}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
