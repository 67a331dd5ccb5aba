-- SPDX-License-Identifier: GPL-2.0-only
-- Causes of sleep with their total, median and 99th percentile, and the longest wait of each with the call
-- chain behind it.
--
-- usage: perf latency script --format sqlite -o waits.db && sqlite3 waits.db < slowest.sql
.mode list
.separator " | "
.headers on

WITH ranked AS (
  SELECT cause, duration_ns,
         row_number() OVER of_cause AS place,
         count(*) OVER (PARTITION BY cause) AS number
  FROM intervals
  WHERE type = 'sleep'
  WINDOW of_cause AS (PARTITION BY cause ORDER BY duration_ns)
)
SELECT c.class, c.cause, r.number AS sleeps,
       round(sum(r.duration_ns) / 1e6, 3) AS total_ms,
       round(min(CASE WHEN place * 2 >= number THEN duration_ns END) / 1e6, 3) AS median_ms,
       round(min(CASE WHEN place * 100 >= number * 99 THEN duration_ns END) / 1e6, 3) AS p99_ms
FROM ranked r JOIN causes c ON c.id = r.cause
GROUP BY r.cause
ORDER BY sum(r.duration_ns) DESC, c.cause
LIMIT 10;

WITH longest AS (
  SELECT cause, id, stack, thread, max(duration_ns) AS ns
  FROM intervals
  WHERE type = 'sleep' AND stack IS NOT NULL
  GROUP BY cause
)
SELECT t.comm, t.tid, round(l.ns / 1e6, 3) AS longest_ms, c.cause,
       (SELECT group_concat(name, ' <- ')
        FROM (SELECT f.name FROM stack_frames s JOIN frames f ON f.id = s.frame
              WHERE s.stack = l.stack ORDER BY s.position)) AS call_chain
FROM longest l JOIN causes c ON c.id = l.cause JOIN threads t ON t.id = l.thread
ORDER BY l.ns DESC, c.cause
LIMIT 10;
