import { usePacks } from "../../parts/packs.ts";
import { Loaded } from "../../parts/states.tsx";
import { no_packs, type ScopeProps } from "./scope.ts";

/** The packs that every membrane would have. */
export function CandidatePacks({ scope: { packs }, onScope }: ScopeProps) {
  const query = usePacks(packs !== undefined);
  const change = (names: readonly string[]) => onScope({ packs: names.length === 0 ? no_packs : names.join(",") });
  return (
    <div className="stack tight">
      <label className="check">
        <input
          type="checkbox"
          checked={packs !== undefined}
          onChange={(event) => onScope({ packs: event.target.checked ? no_packs : "" })}
        />
        Other packs than were on then
      </label>
      {packs !== undefined && (
        <Loaded query={query} what="the packs">
          {(all) => (
            <fieldset className="row">
              <legend className="sr">Packs to try</legend>
              {all.map(({ name }) => (
                <label key={name} className="check small">
                  <input
                    type="checkbox"
                    checked={packs.includes(name)}
                    onChange={(event) =>
                      change(event.target.checked ? [...packs, name] : packs.filter((each) => each !== name))
                    }
                  />
                  {name}
                </label>
              ))}
            </fieldset>
          )}
        </Loaded>
      )}
    </div>
  );
}
