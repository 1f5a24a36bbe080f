/** Without these a crash of the machine can lose decisions that were answered; a session sees to everything else that this needs. */
const for_durability = ["fsync", "full_page_writes"];
/** Without these nothing that was deleted or changed is ever cleared away. */
const for_vacuum = ["autovacuum", "track_counts"];

/** SQL: the names of those that are off, as text[]. */
const off = (settings: readonly string[]): string =>
  `array(select name from unnest('{${settings}}'::text[]) as name where current_setting(name) = 'off')`;

/** SQL for a select list: the settings of the server that are off and should not be, as `unsafe` and `unvacuumed`. */
export const settingsOff: string = `${off(for_durability)} as unsafe, ${off(for_vacuum)} as unvacuumed`;
