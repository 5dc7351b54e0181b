CREATE TABLE history (
    id           TEXT PRIMARY KEY,
    memory_id    TEXT,
    old_memory   TEXT,
    new_memory   TEXT,
    event        TEXT,
    created_at   DATETIME,
    updated_at   DATETIME,
    is_deleted   INTEGER,
    actor_id     TEXT,
    role         TEXT
);
CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at DATETIME);
INSERT INTO history VALUES ('44444444-0000-4000-8000-000000000001', '44444444-aaaa-4000-8000-000000000001', NULL, 'Likes green tea', 'ADD', '2026-01-10T09:00:00.000000-08:00', NULL, 0, 'ada', 'user');
INSERT INTO history VALUES ('44444444-0000-4000-8000-000000000002', '44444444-aaaa-4000-8000-000000000002', NULL, 'Owns a cast iron kettle', 'ADD', '2026-01-10T09:00:01.000000-08:00', NULL, 0, NULL, 'user');
INSERT INTO history VALUES ('44444444-0000-4000-8000-000000000003', '44444444-aaaa-4000-8000-000000000001', 'Likes green tea', 'Likes green tea, but not after noon', 'UPDATE', '2026-01-10T09:00:00.000000-08:00', '2026-01-12T20:30:00.000000-08:00', 0, 'ada', 'user');
INSERT INTO history VALUES ('44444444-0000-4000-8000-000000000004', '44444444-aaaa-4000-8000-000000000002', 'Owns a cast iron kettle', NULL, 'DELETE', NULL, NULL, 1, NULL, NULL);
