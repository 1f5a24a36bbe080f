import { describe, expect, test } from "vitest";
import { classifyTool } from "./classify-tool.ts";
import { confirm_below } from "./intake.ts";

const SURE = true;
const UNSURE = false;

describe("no tool that acts is taken for one that reads", () => {
  test.each([
    ["list_push", "record.update"],
    ["list_add", "record.create"],
    ["count_reset", "record.update"],
    ["status_update", "record.update"],
    ["view_update", "record.update"],
    ["history_clear", "data.delete"],
    ["search_index_rebuild", "system.change"],
    ["read_write_file", "record.update"],
    ["check_in_guest", "record.update"],
    ["get_balance_and_transfer", "payment.transfer"],
    ["lookup_and_notify", "communication.chat"],
    ["scan_and_frobnicate", "other.unclassified"],
    ["download_and_frobnicate", "data.export"],
    ["scan_document_to_email", "data.share"],
    ["list_item_for_sale", "record.create"],
    ["status_post", "record.create"],
  ])("%s is %s, to be confirmed", (name, type) => {
    const tool = classifyTool({ name });
    expect(tool.type).toBe(type);
    expect(tool.confidence).toBeLessThan(confirm_below);
  });

  test.each([
    ["get_quote", "Gets a quote and places the order", "payment.charge"],
    ["list_append", "Append to a list", "record.update"],
    ["dismiss_notification", "Marks it as read or done", "record.update"],
    ["handle", "Dismiss it by marking it as read", "record.update"],
  ])("%s, which says %j, is %s", (name, description, type) => {
    expect(classifyTool({ name, description }).type).toBe(type);
  });
});

describe("a tool that only reads stays one", () => {
  test.each([
    ["get_update_history", SURE],
    ["list_charges", SURE],
    ["stripe_list_refunds", SURE],
    ["google_calendar_list_events", SURE],
    ["mcp__github__list_issues", SURE],
    ["get_file_contents", SURE],
    ["charge_list", UNSURE],
    ["order_search", UNSURE],
    ["order_item_list", UNSURE],
    ["open_url", UNSURE],
  ])("%s (sure: %s)", (name, sure) => {
    const tool = classifyTool({ name });
    expect(tool.type).toBe("data.read");
    expect(tool.confidence >= confirm_below).toBe(sure);
  });

  test.each([
    ["get_issue", "Issue details by key"],
    ["get_customer_charges", "Lists charges and refunds"],
    ["list_releases", "Release notes of a project"],
    ["git_log", "Shows the commit logs"],
  ])("%s, which says %j", (name, description) => {
    expect(classifyTool({ name, description }).type).toBe("data.read");
  });
});

test("the reason quotes a word of the name", () => {
  expect(classifyTool({ name: "order_item_list" }).because).toBe('"list" at the name\'s end.');
});

describe("names as servers give them", () => {
  test.each([
    ["mcp__github__create_issue", "record.create", SURE],
    ["mcp__slack__send_message", "communication.chat", SURE],
    ["BankManagerTransferFunds", "payment.transfer", SURE],
    ["AugustSmartLockGrantGuestAccess", "identity.grant", SURE],
    ["google_drive_share_file", "data.share", SURE],
    ["db_backup_restore", "system.recover", SURE],
    ["user_password_reset", "identity.grant", SURE],
    ["create_and_send_email", "communication.email", SURE],
    ["update_phone_number", "record.update", SURE],
    ["buy_phone_number", "payment.charge", SURE],
    ["run_payroll", "payment.transfer", SURE],
    ["withdraw_funds", "payment.transfer", SURE],
    ["iam_attach_role_policy", "identity.grant", SURE],
    ["discord_ban_member", "identity.revoke", SURE],
    ["create_fine_tuning_job", "model.train", SURE],
    ["file_tax_return", "finance.report", SURE],
    ["stop_service", "system.change", SURE],
    ["kill_process", "system.change", SURE],
    ["block_ip", "system.change", SURE],
    ["open_port", "system.change", SURE],
    ["upsert_records", "record.update", SURE],
    ["place_order", "payment.charge", UNSURE],
    ["buy_stock", "payment.charge", SURE],
    ["sell_stock", "payment.transfer", UNSURE],
    ["approve_invoice", "payment.transfer", UNSURE],
    ["terminate_employee", "identity.revoke", UNSURE],
    ["close_books", "finance.journal", UNSURE],
    ["withdraw_consent", "record.update", UNSURE],
    ["merge_pull_request", "system.change", UNSURE],
    ["unlock_door", "system.change", UNSURE],
    ["send_offer_letter", "communication.email", UNSURE],
    ["release_medical_records", "data.share", UNSURE],
  ])("%s is %s (sure: %s)", (name, type, sure) => {
    const tool = classifyTool({ name });
    expect(tool.type).toBe(type);
    expect(tool.confidence >= confirm_below).toBe(sure);
  });
});

describe("a data class is recognized by its words, not by words that mean something else", () => {
  test.each([
    ["track_shipment", "Track a parcel", []],
    ["pin_message", "Pin it", []],
    ["health_check", "Check the health of a service", []],
    ["get_call_transcript", "Transcript of a call", []],
    ["create_card", "Create a Trello card", []],
    ["kill_child_process", "Kill it", []],
    ["get_union", "Union of two sets", []],
    ["pan_camera", "Pan it", []],
    ["set_grade", "Grade of steel", []],
    ["charge_card", "Charge a card", ["chd"]],
    ["verify", "Card number and PIN", ["sad", "chd"]],
    ["get_health_record", "Get it", ["phi"]],
    ["get_lab_result", "Get it", ["phi"]],
    ["set_grade", "Grade of a course", ["education_record"]],
    ["post_journal_entry", "Post it", ["financial_reporting"]],
  ])("%s, %j: %j", (name, description, data_classes) => {
    expect(classifyTool({ name, description }).data_classes).toEqual(data_classes);
  });
});
