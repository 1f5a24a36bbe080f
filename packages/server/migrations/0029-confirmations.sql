-- Challenges of confirmed rulings (decision 0067). The hash is the one of the ruling, which is the challenge itself.
alter table person_tokens drop constraint person_tokens_kind_check;
alter table person_tokens add constraint person_tokens_kind_check
  check (kind in ('signup', 'password', 'invitation', 'passkey', 'sso', 'chat_link', 'ruling'));
