import { type Escalation, type Override, type Reviewer, roleMeets, roleNames, type User } from "@countersign/contract";
import { type Client, pagesOf } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { useClient, useMay, useReads, useSession } from "../../api/session.tsx";
import { nowMs } from "../../browser/clock.ts";
import { Data } from "../tables/data.tsx";
import { visibleText } from "../visible-text.ts";

async function everybodyOf(client: Client): Promise<ReadonlyMap<string, User>> {
  const everybody = new Map<string, User>();
  for await (const { people } of pagesOf((place) => client.listPeople({ limit: 200, ...place })))
    for (const user of people) everybody.set(user.user_id, user);
  return everybody;
}

/** Reads everyone once for all users. `wanted`: false if nobody is named. `fresh`: includes people who joined since. */
export function useEverybody(wanted: boolean, fresh = false) {
  const client = useClient();
  const reads = useReads();
  return useQuery({
    queryKey: ["people", "everybody"],
    queryFn: () => everybodyOf(client),
    enabled: reads && wanted,
    staleTime: fresh ? 0 : 600_000,
  });
}

/** The person in a list of choices. */
export function personText({ name, email }: Pick<User, "name" | "email">): string {
  return name === null ? email : `${name} (${email})`;
}

/** Only the newest keys, and only for callers who may read them. */
export function useKeyNames(wanted: boolean) {
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
 * Shows a person's name or address, or a key's name; the id if the person has left or the name is unknown. The title of a
 * name has the address.
 */
export function Who({ id }: { readonly id: string }) {
  const everybody = useEverybody(id.startsWith("usr_"));
  const keys = useKeyNames(id.startsWith("key_"));
  const person = everybody.data?.get(id);
  const key = keys.data?.get(id) ?? null;
  return (
    <span
      className={person === undefined && key === null ? "mono small" : undefined}
      title={person?.name == null ? id : visibleText(`${person.email} ${id}`)}
    >
      {key !== null && "key "}
      <Data text={person === undefined ? (key ?? id) : (person.name ?? person.email)} />
    </span>
  );
}

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

export function Reviewers({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  if (reviewers.length === 0) return "any reviewer";
  return reviewers.map(({ type, id }, index) => (
    <Fragment key={`${type} ${id}`}>
      {index > 0 && ", "}
      {type === "role" ? `any ${id}` : <Who id={id} />}
    </Fragment>
  ));
}

/** Returns whether the caller is among the reviewers. Only the service knows who owns the caller's key. */
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

export function InOtherHands({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  return (
    <>
      {"Assigned to: "}
      <Reviewers reviewers={reviewers} />.
    </>
  );
}
