import type { Connection } from './driver'

/**
 * The tables, as numbered steps: a step that has been released is never changed, a new one is added behind it. `PRAGMA user_version` holds the
 * number of the last step taken.
 *
 * What each table keeps (spec/log.md §1, §5): `events` is the log. `sessions`, `turns` and `rows` are the fold, each with the store's revision of
 * its last change. A row is JSON without its `seq` and text, which change often; text that a live row gained since it was last written whole stands
 * as pieces in `row_text`, so that growth never rewrites a row; text is a JSON string. `list` holds the entries of the chat list and, with `removed`, their tombstones.
 *
 * Since 2: `queue` holds the waiting messages alone, so asking who has any never meets a history. `beside` holds the agents' own values of open questions. `list.read` is how far a
 * person has read. `runs.kept_from` is the `seq` behind which row events of a settled run may still stand, null once they are pruned; `sessions.pruned_rev` the highest revision that
 * has lost an event.
 *
 * Since 3: `foreign_rows` says of each row of an agent's own store that was met which of our rows shows it; null, if none does or it has been retracted.
 */
export interface Migration { to: number; up(db: Connection): void }

export const MIGRATIONS: readonly Migration[] = [
  { to: 1, up: (db) => db.exec(FIRST) },
  { to: 2, up: (db) => db.exec(SECOND) },
  { to: 3, up: (db) => db.exec(THIRD) },
]

const FIRST = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), rev INTEGER NOT NULL) STRICT;
INSERT INTO head VALUES (1, 0);

CREATE TABLE sessions (
  sid INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  profile TEXT NOT NULL,
  deleted INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  head_rev INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  run TEXT,
  n INTEGER NOT NULL,
  pos TEXT NOT NULL,
  head TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_live ON sessions (sid) WHERE run IS NOT NULL;

CREATE TABLE events (
  sid INTEGER NOT NULL REFERENCES sessions,
  seq INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (sid, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  tid INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions,
  id TEXT NOT NULL,
  pos TEXT NOT NULL,
  rev INTEGER NOT NULL,
  turn TEXT NOT NULL,
  UNIQUE (sid, id)
) STRICT;
CREATE INDEX turns_pos ON turns (sid, pos);
CREATE INDEX turns_rev ON turns (sid, rev);

CREATE TABLE rows (
  rid INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions,
  id TEXT NOT NULL,
  turn TEXT NOT NULL,
  pos TEXT NOT NULL,
  seq INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  open INTEGER NOT NULL,
  row TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (sid, id)
) STRICT;
CREATE INDEX rows_pos ON rows (sid, pos);
CREATE INDEX rows_rev ON rows (sid, rev);
CREATE INDEX rows_turn ON rows (sid, turn);
CREATE INDEX rows_open ON rows (sid) WHERE open = 1;

CREATE TABLE row_text (
  rid INTEGER NOT NULL REFERENCES rows ON DELETE CASCADE,
  n INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (rid, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE retracted (
  sid INTEGER NOT NULL REFERENCES sessions,
  id TEXT NOT NULL,
  rev INTEGER NOT NULL,
  PRIMARY KEY (sid, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX retracted_rev ON retracted (sid, rev);

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions,
  turn TEXT NOT NULL,
  started_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_session ON runs (sid);

CREATE TABLE list (
  sid INTEGER PRIMARY KEY REFERENCES sessions,
  id TEXT NOT NULL UNIQUE,
  profile TEXT NOT NULL,
  rev INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  removed INTEGER NOT NULL,
  entry TEXT NOT NULL
) STRICT;
CREATE INDEX list_order ON list (profile, removed, last_at DESC, id DESC);
CREATE INDEX list_rev ON list (profile, rev);

CREATE TABLE receipts (
  profile TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  sid INTEGER NOT NULL REFERENCES sessions,
  body_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (profile, route, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_at ON receipts (at);
CREATE INDEX receipts_session ON receipts (sid);

CREATE TABLE context (
  item INTEGER PRIMARY KEY,
  sid INTEGER NOT NULL REFERENCES sessions,
  turn TEXT NOT NULL,
  standing INTEGER NOT NULL,
  rows TEXT NOT NULL,
  message TEXT NOT NULL
) STRICT;
CREATE INDEX context_session ON context (sid, item);
CREATE TABLE context_rows (
  sid INTEGER NOT NULL,
  row TEXT NOT NULL,
  item INTEGER NOT NULL REFERENCES context ON DELETE CASCADE,
  PRIMARY KEY (sid, row, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX context_rows_item ON context_rows (item);

CREATE TABLE processes (
  pid INTEGER PRIMARY KEY,
  start_time TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  session TEXT NOT NULL,
  run TEXT NOT NULL
) STRICT;
`

/** What stands in the list counts as read, so that nobody is told of what was there before. A run that settled before this step: its turn says when. A turn that was retracted does not, so its runs count from the session's last activity. */
const SECOND = `
ALTER TABLE sessions ADD COLUMN queue_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN queue_rev INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN pruned_rev INTEGER NOT NULL DEFAULT 0;

CREATE TABLE queue (
  sid INTEGER NOT NULL REFERENCES sessions,
  id TEXT NOT NULL,
  place INTEGER NOT NULL,
  rev INTEGER NOT NULL,
  item TEXT NOT NULL,
  PRIMARY KEY (sid, id)
) STRICT, WITHOUT ROWID;

ALTER TABLE list ADD COLUMN read INTEGER;
UPDATE list SET read = (SELECT seq FROM sessions WHERE sessions.sid = list.sid);

CREATE TABLE beside (
  sid INTEGER NOT NULL REFERENCES sessions,
  question TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (sid, question)
) STRICT, WITHOUT ROWID;

ALTER TABLE runs ADD COLUMN settled_at INTEGER;
ALTER TABLE runs ADD COLUMN kept_from INTEGER;
ALTER TABLE runs ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET kept_from = started_seq;
UPDATE runs SET settled_at = CAST(coalesce(
  (SELECT json_extract(one.value, '$.settledAt') FROM turns, json_each(turns.turn, '$.runs') AS one WHERE turns.sid = runs.sid AND turns.id = runs.turn AND json_extract(one.value, '$.id') = runs.id),
  (SELECT json_extract(sessions.head, '$.lastAt') FROM sessions WHERE sessions.sid = runs.sid),
  0) AS INTEGER)
WHERE id NOT IN (SELECT run FROM sessions WHERE run IS NOT NULL);
CREATE INDEX runs_prunable ON runs (settled_at) WHERE kept_from IS NOT NULL;
`

const THIRD = `
CREATE TABLE foreign_rows (
  store TEXT NOT NULL,
  session TEXT NOT NULL,
  id TEXT NOT NULL,
  sid INTEGER NOT NULL REFERENCES sessions,
  row TEXT,
  PRIMARY KEY (store, session, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX foreign_rows_row ON foreign_rows (sid, row);
`
