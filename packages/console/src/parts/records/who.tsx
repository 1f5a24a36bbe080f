/** Who did something. */
import { type Escalation, type Override, type Reviewer, roleMeets, roleNames, type User } from "@countersign/contract";
import { type Client, pagesOf } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { useClient, useMay, useReads, useSession } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { Data } from "../tables/data.tsx";

/** The organization's people by their ids. */
async function everybodyOf(client: Client): Promise<ReadonlyMap<string, User>> {
  const everybody = new Map<string, User>();
  for await (const { people } of pagesOf((place) => client.listPeople({ limit: 200, ...place })))
    for (const user of people) everybody.set(user.user_id, user);
  return everybody;
}

/**
 * The same, read once for all places that name somebody. `wanted`: false where nobody is to be named. `anew`: also those who
 * have joined since.
 */
export function useEverybody(wanted: boolean, anew = false) {
  const client = useClient();
  const reads = useReads();
  return useQuery({
    queryKey: ["people", "everybody"],
    queryFn: () => everybodyOf(client),
    enabled: reads && wanted,
    staleTime: anew ? 0 : 600_000,
  });
}

/** The names of the newest keys by their ids, for whoever may read them. */
function useKeyNames(wanted: boolean) {
  const client = useClient();
  const may = useMay("admin");
  return useQuery({
    queryKey: ["keys", "names"],
    queryFn: async () => {
      const { api_keys } = await client.listApiKeys({ limit: 200 });
      return new Map(api_keys.map(({ key_id, name }) => [key_id, name]));
    },
    enabled: may && wanted,
    staleTime: 600_000,
  });
}

/**
 * A person by the e-mail address, a key by its name where the caller may know it; whoever is not of the organization any more,
 * and any other key, by the id.
 */
export function Who({ id }: { readonly id: string }) {
  const everybody = useEverybody(id.startsWith("usr_"));
  const keys = useKeyNames(id.startsWith("key_"));
  const address = everybody.data?.get(id)?.email;
  const key = keys.data?.get(id) ?? null;
  return (
    <span className={address === undefined && key === null ? "mono small" : "small"} title={id}>
      {key !== null && "key "}
      <Data text={address ?? key ?? id} />
    </span>
  );
}

/** Whoever approved an override: one person, or two. */
export function Approvers({ override: { approved_by, seconded_by } }: { readonly override: Override }) {
  return (
    <>
      <Who id={approved_by} />
      {seconded_by !== null && (
        <>
          {" and "}
          <Who id={seconded_by} />
        </>
      )}
    </>
  );
}

/** Those who decide: everybody of a role, and people one by one. */
export function Reviewers({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  if (reviewers.length === 0) return "every reviewer";
  return reviewers.map(({ type, id }, index) => (
    <Fragment key={`${type} ${id}`}>
      {index > 0 && ", "}
      {type === "role" ? `every ${id}` : <Who id={id} />}
    </Fragment>
  ));
}

/** Whether the caller is among those who decide. Whose key it is that speaks the service alone knows: it says so when asked. */
export function useInHands(): (asked: Pick<Escalation, "reviewers">) => boolean {
  const { caller } = useSession();
  const decides = useMay("reviewer");
  const { data: everybody } = useEverybody(decides && caller?.type === "user");
  const standsInFor = (id: string): boolean => {
    const absence = everybody?.get(id)?.absence;
    return absence?.may_vote === true && absence.delegate === caller?.id && Date.parse(absence.from) <= nowMs();
  };
  const fits = ({ type, id }: Reviewer) =>
    type === "user"
      ? id === caller?.id || caller?.type === "key" || standsInFor(id)
      : caller !== null &&
        roleMeets(
          caller.role,
          roleNames.filter((name) => name === id),
        );
  return ({ reviewers }) => reviewers.length === 0 || reviewers.some(fits);
}

/** Why somebody has no buttons for a review. */
export function InOtherHands({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  return (
    <>
      {"In other hands: "}
      <Reviewers reviewers={reviewers} />
      {reviewers.length > 1 ? " decide." : " decides."}
    </>
  );
}
