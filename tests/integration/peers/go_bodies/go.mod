module go_bodies

go 1.21
