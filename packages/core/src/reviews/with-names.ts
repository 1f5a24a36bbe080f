import type { Review } from "./escalation.ts";
import { type CountedDemand, panelsOf } from "./panels.ts";
import { isCounted } from "./standing.ts";

type Names = ReadonlyMap<string, string>;

/**
 * Renames the people of a review. Of several votes with the same new name the last remains, because a later vote
 * replaces an earlier one.
 */
export function withNames({ record, ruling, demands }: Review, names: Names): Review {
  const last = new Map(record.votes.map((each) => [nameOf(names, each.reviewer), each]));
  const votes = record.votes.flatMap((each) => {
    const reviewer = nameOf(names, each.reviewer);
    return last.get(reviewer) === each ? [{ ...each, reviewer }] : [];
  });
  const renamed = demands.map((demand) => renamedDemand(demand, names));
  const quorum = { ...record.quorum, approvals: votes.filter((each) => isCounted(each, renamed)).length };
  const panels = panelsOf(renamed, record.expires_at);
  return { record: { ...record, votes, quorum, panels }, ruling, demands: renamed };
}

function nameOf(names: Names, person: string): string {
  return names.get(person) ?? person;
}

/** Renames every mention. Otherwise a fast approval or a party's would count in full. */
function renamedDemand(demand: CountedDemand, names: Names): CountedDemand {
  const { approved_by, parties, needs_second, in_place_of, carried } = demand;
  const renamed = (people: readonly string[]): string[] => [...new Set(people.map((each) => nameOf(names, each)))];
  return {
    ...demand,
    approved_by: renamed(approved_by),
    ...(parties === undefined ? {} : { parties: renamed(parties) }),
    ...(needs_second === undefined ? {} : { needs_second: renamed(needs_second) }),
    ...(in_place_of === undefined ? {} : { in_place_of: renamedKeys(in_place_of, names) }),
    ...(carried === undefined
      ? {}
      : {
          carried: carried.map(({ person, demand: { reviewers, in_place_of: places } }) => ({
            person: nameOf(names, person),
            demand: { reviewers, ...(places === undefined ? {} : { in_place_of: renamedKeys(places, names) }) },
          })),
        }),
  };
}

function renamedKeys(in_place_of: NonNullable<CountedDemand["in_place_of"]>, names: Names): Record<string, string> {
  return Object.fromEntries(Object.entries(in_place_of).map(([person, absent]) => [nameOf(names, person), absent]));
}
