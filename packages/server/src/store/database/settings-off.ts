/**
 * If one of these is off, a crash of the machine can lose answered decisions. A session ensures all other settings that
 * durability needs.
 */
const forDurability = ["fsync", "full_page_writes"];
/** If one of these is off, deleted and changed rows are never vacuumed. */
const forVacuum = ["autovacuum", "track_counts"];

/** SQL: the names of those settings that are off, as text[]. */
const off = (settings: readonly string[]): string =>
  `array(select name from unnest('{${settings}}'::text[]) as name where current_setting(name) = 'off')`;

/** SQL for a select list: the settings of the server that are off and should not be, as `unsafe` and `unvacuumed`. */
export const settings_off: string = `${off(forDurability)} as unsafe, ${off(forVacuum)} as unvacuumed`;
