//! As many conditions after each other as there may be.
use deadline_runtime::{Stopped, deadline};

#[deadline(budget = "100ms")]
async fn ping() -> Result<u32, Stopped> {
    Ok(1)
}

#[deadline(budget = "199ms")]
async fn else_if(id: u32) -> Result<u32, Stopped> {
    if id == 0 {
        ping().await
    } else if id == 1 {
        ping().await
    } else if id == 2 {
        ping().await
    } else if id == 3 {
        ping().await
    } else if id == 4 {
        ping().await
    } else if id == 5 {
        ping().await
    } else if id == 6 {
        ping().await
    } else if id == 7 {
        ping().await
    } else if id == 8 {
        ping().await
    } else if id == 9 {
        ping().await
    } else if id == 10 {
        ping().await
    } else if id == 11 {
        ping().await
    } else if id == 12 {
        ping().await
    } else if id == 13 {
        ping().await
    } else if id == 14 {
        ping().await
    } else if id == 15 {
        ping().await
    } else if id == 16 {
        ping().await
    } else if id == 17 {
        ping().await
    } else if id == 18 {
        ping().await
    } else if id == 19 {
        ping().await
    } else if id == 20 {
        ping().await
    } else if id == 21 {
        ping().await
    } else if id == 22 {
        ping().await
    } else if id == 23 {
        ping().await
    } else if id == 24 {
        ping().await
    } else if id == 25 {
        ping().await
    } else if id == 26 {
        ping().await
    } else if id == 27 {
        ping().await
    } else if id == 28 {
        ping().await
    } else if id == 29 {
        ping().await
    } else if id == 30 {
        ping().await
    } else if id == 31 {
        ping().await
    } else if id == 32 {
        ping().await
    } else if id == 33 {
        ping().await
    } else if id == 34 {
        ping().await
    } else if id == 35 {
        ping().await
    } else if id == 36 {
        ping().await
    } else if id == 37 {
        ping().await
    } else if id == 38 {
        ping().await
    } else if id == 39 {
        ping().await
    } else if id == 40 {
        ping().await
    } else if id == 41 {
        ping().await
    } else if id == 42 {
        ping().await
    } else if id == 43 {
        ping().await
    } else if id == 44 {
        ping().await
    } else if id == 45 {
        ping().await
    } else if id == 46 {
        ping().await
    } else if id == 47 {
        ping().await
    } else if id == 48 {
        ping().await
    } else if id == 49 {
        ping().await
    } else if id == 50 {
        ping().await
    } else if id == 51 {
        ping().await
    } else if id == 52 {
        ping().await
    } else if id == 53 {
        ping().await
    } else if id == 54 {
        ping().await
    } else if id == 55 {
        ping().await
    } else if id == 56 {
        ping().await
    } else if id == 57 {
        ping().await
    } else if id == 58 {
        ping().await
    } else if id == 59 {
        ping().await
    } else if id == 60 {
        ping().await
    } else if id == 61 {
        ping().await
    } else if id == 62 {
        ping().await
    } else if id == 63 {
        ping().await
    } else if id == 64 {
        ping().await
    } else if id == 65 {
        ping().await
    } else if id == 66 {
        ping().await
    } else if id == 67 {
        ping().await
    } else if id == 68 {
        ping().await
    } else if id == 69 {
        ping().await
    } else if id == 70 {
        ping().await
    } else if id == 71 {
        ping().await
    } else if id == 72 {
        ping().await
    } else if id == 73 {
        ping().await
    } else if id == 74 {
        ping().await
    } else if id == 75 {
        ping().await
    } else if id == 76 {
        ping().await
    } else if id == 77 {
        ping().await
    } else if id == 78 {
        ping().await
    } else if id == 79 {
        ping().await
    } else if id == 80 {
        ping().await
    } else if id == 81 {
        ping().await
    } else if id == 82 {
        ping().await
    } else if id == 83 {
        ping().await
    } else if id == 84 {
        ping().await
    } else if id == 85 {
        ping().await
    } else if id == 86 {
        ping().await
    } else if id == 87 {
        ping().await
    } else if id == 88 {
        ping().await
    } else if id == 89 {
        ping().await
    } else if id == 90 {
        ping().await
    } else if id == 91 {
        ping().await
    } else if id == 92 {
        ping().await
    } else if id == 93 {
        ping().await
    } else if id == 94 {
        ping().await
    } else if id == 95 {
        ping().await
    } else if id == 96 {
        ping().await
    } else if id == 97 {
        ping().await
    } else if id == 98 {
        ping().await
    } else if id == 99 {
        ping().await
    } else if id == 100 {
        ping().await
    } else if id == 101 {
        ping().await
    } else if id == 102 {
        ping().await
    } else if id == 103 {
        ping().await
    } else if id == 104 {
        ping().await
    } else if id == 105 {
        ping().await
    } else if id == 106 {
        ping().await
    } else if id == 107 {
        ping().await
    } else if id == 108 {
        ping().await
    } else if id == 109 {
        ping().await
    } else if id == 110 {
        ping().await
    } else if id == 111 {
        ping().await
    } else if id == 112 {
        ping().await
    } else if id == 113 {
        ping().await
    } else if id == 114 {
        ping().await
    } else if id == 115 {
        ping().await
    } else if id == 116 {
        ping().await
    } else if id == 117 {
        ping().await
    } else if id == 118 {
        ping().await
    } else if id == 119 {
        ping().await
    } else if id == 120 {
        ping().await
    } else if id == 121 {
        ping().await
    } else if id == 122 {
        ping().await
    } else if id == 123 {
        ping().await
    } else if id == 124 {
        ping().await
    } else if id == 125 {
        ping().await
    } else if id == 126 {
        ping().await
    } else if id == 127 {
        ping().await
    } else if id == 128 {
        ping().await
    } else if id == 129 {
        ping().await
    } else if id == 130 {
        ping().await
    } else if id == 131 {
        ping().await
    } else if id == 132 {
        ping().await
    } else if id == 133 {
        ping().await
    } else if id == 134 {
        ping().await
    } else if id == 135 {
        ping().await
    } else if id == 136 {
        ping().await
    } else if id == 137 {
        ping().await
    } else if id == 138 {
        ping().await
    } else if id == 139 {
        ping().await
    } else if id == 140 {
        ping().await
    } else if id == 141 {
        ping().await
    } else if id == 142 {
        ping().await
    } else if id == 143 {
        ping().await
    } else if id == 144 {
        ping().await
    } else if id == 145 {
        ping().await
    } else if id == 146 {
        ping().await
    } else if id == 147 {
        ping().await
    } else if id == 148 {
        ping().await
    } else if id == 149 {
        ping().await
    } else {
        ping().await?;
        ping().await
    }
}

fn main() {}
