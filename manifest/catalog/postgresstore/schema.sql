-- The tables of package postgresstore, version 1. Open runs this file if the tables are missing and its
-- role may create them. Whoever does not allow that runs the file beforehand, in a schema that is first in
-- the search_path of the program, and grants
--
--     GRANT SELECT, INSERT, UPDATE ON toolwire_tools TO program;
--     GRANT SELECT ON toolwire_catalog TO program;
--
-- Texts are bytes: type text has no NUL, and depends on the encoding and the collation of the database.
-- People read the view toolwire_tools_text, which no program uses.

CREATE TABLE toolwire_tools (
	account bytea NOT NULL,
	id bytea NOT NULL,
	name bytea NOT NULL,
	framework bytea NOT NULL,
	type bytea NOT NULL,
	description bytea NOT NULL,
	version bytea NOT NULL,
	class_name bytea NOT NULL,
	module_name bytea NOT NULL,
	source bytea NOT NULL,
	tags bytea NOT NULL,    -- JSON: a list of strings, or null
	deleted_at timestamptz, -- NULL if it is not deleted
	PRIMARY KEY (account, id)
);

-- Names are unique by their hash, because an entry of an index is limited to 2,704 bytes.
CREATE UNIQUE INDEX toolwire_tools_live_name ON toolwire_tools (account, sha256(name)) WHERE deleted_at IS NULL;

-- toolwire_text returns UTF-8 as text. What the encoding of the database does not have is escaped.
CREATE FUNCTION toolwire_text(bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	RETURN convert_from($1, 'UTF8');
EXCEPTION WHEN others THEN
	RETURN encode($1, 'escape');
END $$;

CREATE VIEW toolwire_tools_text AS SELECT
	toolwire_text(account) AS account, toolwire_text(id) AS id, toolwire_text(name) AS name,
	toolwire_text(framework) AS framework, toolwire_text(type) AS type, toolwire_text(description) AS description,
	toolwire_text(version) AS version, toolwire_text(class_name) AS class_name,
	toolwire_text(module_name) AS module_name, toolwire_text(tags) AS tags,
	octet_length(source) AS source_bytes, deleted_at
FROM toolwire_tools;

CREATE TABLE toolwire_catalog (version integer NOT NULL);
INSERT INTO toolwire_catalog VALUES (1);
