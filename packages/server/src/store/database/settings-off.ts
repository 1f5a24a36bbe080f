/** If one is off, a machine crash can lose answered decisions. Sessions ensure the other settings. */
const forDurability = ["fsync", "full_page_writes"];
/** If one is off, deleted rows are never vacuumed. */
const forVacuum = ["autovacuum", "track_counts"];

const off = (settings: readonly string[]): string =>
  `array(select name from unnest('{${settings}}'::text[]) as name where current_setting(name) = 'off')`;

export const settings_off: string = `${off(forDurability)} as unsafe, ${off(forVacuum)} as unvacuumed`;
