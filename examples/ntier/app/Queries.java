package board;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.NoSuchElementException;

/** A connection of the pool in the hands of one request. */
record Queries(Connection connection) implements AutoCloseable {
  /** What is done with a row. */
  interface Row {
    void read(ResultSet row) throws SQLException;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }

  /** Returns how many rows there were. */
  int each(String query, Row row, Object... arguments) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(query)) {
      for (int i = 0; i < arguments.length; i++) {
        statement.setObject(i + 1, arguments[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        int n = 0;
        for (; rows.next(); n++) {
          row.read(rows);
        }
        return n;
      }
    }
  }

  /** Reads one row; without it there is no such page. */
  void one(String missing, String query, Row row, Object... arguments) throws SQLException {
    if (each(query, row, arguments) == 0) {
      throw new NoSuchElementException(missing);
    }
  }
}
