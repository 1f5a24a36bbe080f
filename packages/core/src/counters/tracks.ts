import type { Program } from "@countersign/cel";
import { ActionIndex, type ActionKey } from "../policy/action-index.ts";
import type { Track } from "./definition.ts";

/** A counter or an earlier action of a policy set. */
export interface PlacedTrack extends Track {
  /** The expressions whose distinct values some policy of the set counts, by their sources. */
  readonly fields: ReadonlyMap<string, Program>;
  /** Whether policies of the set define the name differently. Then its values are unknown. */
  readonly conflicts: boolean;
}

/** The counters of a policy set, live and shadow policies together. */
export interface Tracks {
  readonly byName: ReadonlyMap<string, PlacedTrack>;
  /** Returns the tracks that an action counts in. */
  appliedTo(key: ActionKey): readonly PlacedTrack[];
}

/** The counters of one policy. */
export interface TrackSource {
  readonly tracks: readonly Track[];
  /** Expressions of `count.<name>.distinct("<expression>")` in this policy. */
  readonly distinct: readonly { readonly track: string; readonly source: string; readonly program: Program }[];
}

const none: readonly never[] = Object.freeze([]);
const noTracks: Tracks = { byName: new Map(), appliedTo: () => none };

/** Merges the counters of all policies of a set. A name that policies share is one counter. */
export function tracksOf(policies: readonly TrackSource[]): Tracks {
  const all = policies.flatMap(({ tracks }) => tracks);
  if (all.length === 0) return noTracks;
  const byName = new Map<string, PlacedTrack>();
  for (const track of all) {
    const known = byName.get(track.name);
    const fields = new Map(
      policies.flatMap(({ distinct }) =>
        distinct.flatMap(({ track: name, source, program }) =>
          name === track.name ? [[source, program] as const] : [],
        ),
      ),
    );
    const conflicts = known !== undefined && (known.conflicts || known.text !== track.text);
    const adjust_needs_two = track.adjust_needs_two || known?.adjust_needs_two === true;
    byName.set(track.name, { ...(known ?? track), fields, conflicts, adjust_needs_two });
  }
  const index = new ActionIndex(all.map(({ match }) => match));
  return {
    byName,
    appliedTo(key) {
      const names = new Set(index.candidates(key).map((place) => (all[place] as Track).name));
      return names.size === 0 ? none : [...names].map((name) => byName.get(name) as PlacedTrack);
    },
  };
}
