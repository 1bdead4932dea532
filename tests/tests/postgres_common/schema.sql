CREATE TABLE accounts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner text NOT NULL, cents bigint NOT NULL);
CREATE TABLE notes (text text NOT NULL);
